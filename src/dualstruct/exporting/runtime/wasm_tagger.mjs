// A tagger whose features and labels are those of the core in WebAssembly.

import { stated } from "./attributes.mjs";
import { Chain } from "./chain.mjs";
import { Labeller } from "./interface.mjs";
import { bytesOf, unpacked } from "./loading.mjs";
import { unpack } from "./packed.mjs";
import { Core } from "./wasm_core.mjs";

// Tokens that the core sees at once.
const MOST_TOKENS = 20000;

class Engine {
  constructor(core, header, arrays) {
    Object.assign(this, { core, header, stride: core.call("stride") });
    this.chain = new Chain(header.labels.length, arrays.transition, arrays.allowed);
  }

  // Hands sentences over; how many bytes they take.
  hand(sentences) {
    const lengths = Uint32Array.from(sentences, (tokens) => tokens.length);
    if (this.header.width !== null) return this.core.hand([lengths], this.cells(sentences));
    const counts = [], names = [], values = [];
    for (const tokens of sentences) {
      for (const token of tokens) {
        if (typeof token === "string") throw new Error("a token is an object or an array of strings: the model knows attributes");
        const before = names.length;
        stated(token, "", (name, value) => {
          if (value === 0) return;
          names.push(name);
          values.push(value);
        });
        counts.push(names.length - before);
      }
    }
    const text = names.length ? names.join("\0") + "\0" : "";
    return this.core.hand([lengths, Uint32Array.from(counts), Float32Array.from(values)], text);
  }

  // All cells of sentences, a NUL behind each.
  cells(sentences) {
    const { width } = this.header;
    let text = "";
    for (const tokens of sentences) {
      let least = tokens.length ? Infinity : width;
      for (const token of tokens) {
        if (typeof token === "string") {
          least = 1;
          text += token + "\0";
          continue;
        }
        if (token.length < least) least = token.length;
        for (let c = 0; c < width; c++) text += token[c] + "\0";
      }
      if (least < width) throw new Error(`a token has ${least} of the ${width} columns that the model wants`);
    }
    return text;
  }

  best(sentences) {
    const found = [];
    for (let begin = 0; begin < sentences.length; ) {
      let end = begin, tokens = 0;
      while (end < sentences.length && (end === begin || tokens + sentences[end].length <= MOST_TOKENS)) {
        tokens += sentences[end++].length;
      }
      const some = sentences.slice(begin, end);
      const place = this.core.call("label", some.length, this.header.width ?? 0, this.hand(some));
      const labels = this.core.view(Int32Array, place, tokens);
      let first = 0;
      for (const { length } of some) {
        const path = new Array(length);
        for (let t = 0; t < length; t++) path[t] = labels[first + t];
        first += length;
        found.push(path);
      }
      begin = end;
    }
    return found;
  }

  scores(tokens) {
    const n = tokens.length, { K, rows } = this.chain, { stride } = this;
    const place = this.core.call("scores", 1, this.header.width ?? 0, this.hand([tokens]));
    const all = this.core.view(Float32Array, place, (n + K + 2 + (this.header.pairs ? n * K : 0)) * stride);
    const square = (begin, size) => Float32Array.from({ length: size * K }, (_, i) => all[(begin + ((i / K) | 0)) * stride + (i % K)]);
    const steps = new Array(n).fill(rows);
    if (this.header.pairs) {
      for (let t = 1; t < n; t++) steps[t] = square(n + K + 2 + t * K, K).map((x, i) => x + rows[i]);
    }
    return { emissions: square(0, n), steps, n };
  }

  split(text) {
    const place = this.core.call("split", this.core.hand([], text));
    const [sentences, tokens] = this.core.view(Int32Array, place, 2);
    const all = this.core.view(Int32Array, place + 8, sentences + 2 * tokens);
    const starts = all.subarray(sentences), ends = all.subarray(sentences + tokens);
    let token = 0;
    return Array.from({ length: sentences }, (_, i) =>
      Array.from({ length: all[i] }, () => {
        const start = starts[token], end = ends[token++];
        return { word: text.slice(start, end), start, end };
      }),
    );
  }
}

export class Tagger extends Labeller {}

// The tagger of model.bin, or of another place or its bytes; core.wasm lies beside this module.
export async function load(source = new URL("model.bin", import.meta.url), program = new URL("core.wasm", import.meta.url)) {
  const { header, arrays } = unpack(await unpacked(source));
  const core = await Core.start(await bytesOf(program), arrays.core);
  return new Tagger(header, new Engine(core, header, arrays));
}
