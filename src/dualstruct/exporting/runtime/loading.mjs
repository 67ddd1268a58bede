// The files beside a module.

export async function bytesOf(source) {
  if (!(source instanceof URL) && typeof source !== "string") return source;
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:") return (await import("node:fs/promises")).readFile(url);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

// What was packed into a file, or into its bytes.
export async function unpacked(source) {
  const packed = new Blob([await bytesOf(source)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(packed).arrayBuffer();
}

// The tokens of a sentence. A string would be taken for its letters.
export function tokensOf(sentence) {
  if (!Array.isArray(sentence)) throw new Error(`a sentence is an array of tokens, not a ${typeof sentence}`);
  return sentence;
}
