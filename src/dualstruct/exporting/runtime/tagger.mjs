// A tagger in JavaScript alone.

import { Attributes } from "./attributes.mjs";
import { Chain } from "./chain.mjs";
import { Dense } from "./dense.mjs";
import { Templates } from "./features.mjs";
import { Labeller } from "./interface.mjs";
import { unpacked } from "./loading.mjs";
import { unpack } from "./packed.mjs";
import { Sparse } from "./sparse.mjs";
import { Splitter } from "./splitting.mjs";
import { Characters } from "./words.mjs";

class Engine {
  constructor(header, arrays) {
    const chars = new Characters(arrays);
    this.chain = new Chain(header.labels.length, arrays.transition, arrays.allowed);
    const weights = new (header.dense ? Dense : Sparse)(arrays, "emission", header.shift, this.chain.K);
    this.features = header.templates
      ? new Templates(header.templates, arrays, weights, "emission", chars)
      : new Attributes(weights);
    this.pairs = null;
    if (header.pairs) {
      const paired = new Sparse(arrays, "pair", header.pair_shift);
      this.pairs = new Templates(header.pairs, arrays, paired, "pair", chars);
    }
    if (header.tokenizer) this.splitter = new Splitter(header.tokenizer, header.rules, chars);
  }
  scores(tokens) {
    return this.chain.scores(tokens, this.features, this.pairs);
  }
  best(sentences) {
    return sentences.map((tokens) => (tokens.length ? this.chain.best(this.scores(tokens)) : []));
  }
  split(text) {
    return this.splitter.split(text);
  }
}

export class Tagger extends Labeller {
  constructor(buffer) {
    const { header, arrays } = unpack(buffer);
    super(header, new Engine(header, arrays));
  }
}

// The tagger of model.bin, or of another place or its bytes.
export async function load(source = new URL("model.bin", import.meta.url)) {
  return new Tagger(await unpacked(source));
}
