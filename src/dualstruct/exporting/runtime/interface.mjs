// What can be asked of a tagger, whatever labels its tokens: an engine has best(sentences), the numbers of labels;
// scores(tokens) and chain, for probabilities; and split(text).

import { Beliefs } from "./beliefs.mjs";
import { tokensOf } from "./loading.mjs";
import { areSpanLabels, convert, findSpans, parts, splitLabels } from "./spans.mjs";

export class Labeller {
  #engine; #header; #split; #spans;

  constructor(header, engine) {
    this.labels = header.labels;
    this.columns = header.columns;
    this.#header = header;
    this.#engine = engine;
    this.#split = splitLabels(header.labels);
    this.#spans = areSpanLabels(header.labels);
  }

  #beliefs(scores) {
    const { beta } = this.#header;
    if (beta === null) throw new Error("this model's scores are not probabilities: calibrate it and export it again");
    return new Beliefs(this.#engine.chain, scores, beta);
  }

  tag(tokens) {
    return this.tagAll([tokens])[0];
  }

  tagAll(sentences) {
    const [inner, outer] = this.#header.schemes, found = this.#engine.best(sentences.map(tokensOf));
    for (let i = 0; i < found.length; i++) {
      const path = found[i];
      for (let t = 0; t < path.length; t++) path[t] = this.labels[path[t]];
      if (inner !== null && outer !== null) found[i] = convert(path, inner, outer);
    }
    return found;
  }

  probabilities(tokens) {
    if (!tokensOf(tokens).length) return [];
    const rows = this.#beliefs(this.#engine.scores(tokens)).labels();
    return rows.map((row) => Object.fromEntries(row.map((p, k) => [this.labels[k], p])));
  }

  spans(tokens) {
    if (!this.#spans) throw new Error("the labels of this model mark no spans");
    if (!tokensOf(tokens).length) return [];
    const found = findSpans(this.#engine.best([tokens])[0].map((k) => this.labels[k]));
    if (this.#header.beta === null || !found.length) return found.map((span) => ({ ...span, probability: null }));
    const beliefs = this.#beliefs(this.#engine.scores(tokens)), apart = (j, k) => parts(this.#split[j], this.#split[k]);
    return found.map((span) => {
      const inside = [...this.labels.keys()].filter((k) => this.#split[k][0] !== "O" && this.#split[k][1] === span.label);
      return { ...span, probability: beliefs.span(inside, apart, span.start, span.end) };
    });
  }

  split(text) {
    if (!this.#header.tokenizer) throw new Error("this model does not label plain words, and so no texts");
    return this.#engine.split(text);
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
