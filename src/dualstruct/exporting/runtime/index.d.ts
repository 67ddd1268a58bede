/** A token: a word, its columns, or attributes. */
export type Attributes = { [name: string]: string | number | boolean | string[] | Set<string> | Attributes };
export type Token = string | readonly string[] | Set<string> | Attributes;

/** Tokens `start` to `end - 1` of a sentence; the probability is null if the model has none. */
export interface Span {
  label: string;
  start: number;
  end: number;
  probability: number | null;
}

/** A span of a text; places are those of JavaScript's strings (UTF-16). */
export interface TextSpan extends Span {
  text: string;
}

export interface Word {
  word: string;
  start: number;
  end: number;
}

export class Tagger {
  /** The labels, in the scheme that the model learned in. */
  readonly labels: string[];
  /** How many columns a token has; null for attributes. */
  readonly columns: number | null;
  /** The labels of a sentence's tokens. */
  tag(tokens: readonly Token[]): string[];
  /** The labels of many sentences: quicker than one after the other where WebAssembly labels them. */
  tagAll(sentences: readonly (readonly Token[])[]): string[][];
  /** The spans that the labels of a sentence mark. */
  spans(tokens: readonly Token[]): Span[];
  /** The probability of each label at each token. */
  probabilities(tokens: readonly Token[]): { [label: string]: number }[];
  /** The sentences of a text, split as the training data were. */
  split(text: string): Word[][];
  /** The spans of a text, or each token with its label if labels mark no spans. */
  find(text: string): TextSpan[];
}

/** The tagger of model.bin beside the module, or of another place or the bytes of that file; the same of core.wasm. */
export function load(
  source?: URL | string | ArrayBuffer | Uint8Array,
  core?: URL | string | ArrayBuffer | Uint8Array,
): Promise<Tagger>;
