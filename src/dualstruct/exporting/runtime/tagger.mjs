// A tagger from its packed form, and what can be asked of it.

import { Attributes } from "./attributes.mjs";
import { Chain } from "./chain.mjs";
import { Templates, Weights } from "./features.mjs";
import { areSpanLabels, convert, findSpans, parts, splitLabel } from "./spans.mjs";
import { Splitter } from "./splitting.mjs";
import { Characters } from "./words.mjs";

const KINDS = { B: Uint8Array, H: Uint16Array, I: Uint32Array, Q: BigUint64Array, f: Float32Array };

// The header and the arrays of a packed model.
export function unpack(buffer) {
  const view = new DataView(buffer), decoder = new TextDecoder();
  if (decoder.decode(new Uint8Array(buffer, 0, 4)) !== "DSX1") throw new Error("this is no exported model");
  const size = view.getUint32(4, true), header = JSON.parse(decoder.decode(new Uint8Array(buffer, 8, size)));
  const begin = 8 + size + ((8 - (size % 8)) % 8), arrays = {};
  for (const [name, [kind, offset, length]] of Object.entries(header.arrays)) {
    arrays[name] = new KINDS[kind](buffer, begin + offset, length);
  }
  return { header, arrays };
}

export class Tagger {
  #chain; #features; #pairs = null; #splitter = null; #header; #split; #spans;

  constructor(buffer) {
    const { header, arrays } = unpack(buffer), chars = new Characters(arrays);
    this.labels = header.labels;
    this.columns = header.columns;
    this.#header = header;
    this.#chain = new Chain(header.labels.length, arrays.transition, arrays.allowed);
    const weights = new Weights(arrays, "emission", header.shift);
    this.#features = header.templates
      ? new Templates(header.templates, arrays, weights, "emission", chars)
      : new Attributes(weights);
    if (header.pairs) {
      const paired = new Weights(arrays, "pair", header.pair_shift);
      this.#pairs = new Templates(header.pairs, arrays, paired, "pair", chars);
    }
    if (header.tokenizer) this.#splitter = new Splitter(header.tokenizer, header.rules, chars);
    this.#split = header.labels.map(splitLabel);
    this.#spans = areSpanLabels(header.labels);
  }

  #scores(tokens) {
    return this.#chain.scores(tokens, this.#features, this.#pairs);
  }

  #beliefs(scores) {
    const { beta } = this.#header;
    if (beta === null) throw new Error("this model's scores are no probabilities: calibrate it and export it again");
    return this.#chain.beliefs(scores, beta);
  }

  tag(tokens) {
    if (!tokens.length) return [];
    const labels = this.#chain.best(this.#scores(tokens)).map((k) => this.labels[k]);
    const [inner, outer] = this.#header.schemes;
    return inner === null || outer === null ? labels : convert(labels, inner, outer);
  }

  probabilities(tokens) {
    if (!tokens.length) return [];
    const rows = this.#beliefs(this.#scores(tokens)).labels();
    return rows.map((row) => Object.fromEntries(row.map((p, k) => [this.labels[k], p])));
  }

  spans(tokens) {
    if (!this.#spans) throw new Error("the labels of this model mark no spans");
    if (!tokens.length) return [];
    const scores = this.#scores(tokens), found = findSpans(this.#chain.best(scores).map((k) => this.labels[k]));
    if (this.#header.beta === null || !found.length) return found.map((span) => ({ ...span, probability: null }));
    const beliefs = this.#beliefs(scores), apart = (j, k) => parts(this.#split[j], this.#split[k]);
    return found.map((span) => {
      const inside = [...this.labels.keys()].filter((k) => this.#split[k][0] !== "O" && this.#split[k][1] === span.label);
      return { ...span, probability: beliefs.span(inside, apart, span.start, span.end) };
    });
  }

  split(text) {
    if (!this.#splitter) throw new Error("this model does not label plain words, and so no texts");
    return this.#splitter.split(text);
  }

  find(text) {
    return this.split(text).flatMap((sentence) => {
      const words = sentence.map((token) => token.word);
      const spans = this.#spans
        ? this.spans(words)
        : this.tag(words).map((label, t) => ({ label, start: t, end: t + 1, probability: null }));
      return spans.map(({ label, start: first, end: last, probability }) => {
        const { start } = sentence[first], { end } = sentence[last - 1];
        return { start, end, label, text: text.slice(start, end), probability };
      });
    });
  }
}

async function bytesOf(source) {
  if (!(source instanceof URL) && typeof source !== "string") return source;
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:") return (await import("node:fs/promises")).readFile(url);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

// The tagger of model.bin, or of another place or its bytes.
export async function load(source = new URL("model.bin", import.meta.url)) {
  const packed = new Blob([await bytesOf(source)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Tagger(await new Response(packed).arrayBuffer());
}
