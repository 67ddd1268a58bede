/** A word with the columns that the parser was trained with; a string if that is the form alone. */
export type Word = string | { form?: string; lemma?: string; upos?: string; xpos?: string; feats?: string };

/** What a word hangs from: the number of a word, counted from 1, or 0 for the root. */
export interface Arc {
  head: number;
  relation: string;
}

export class Parser {
  private constructor();
  /** The relations that there are. */
  readonly relations: string[];
  /** What a word must have. */
  readonly columns: ("form" | "lemma" | "upos" | "xpos" | "feats")[];
  /** The tree of a sentence: an arc for each word. */
  parse(words: readonly Word[]): Arc[];
  /** The trees of sentences. */
  parseAll(sentences: readonly (readonly Word[])[]): Arc[][];
}

/** The parser of model.bin beside the module, or of another place or the bytes of that file. */
export function load(
  source?: URL | string | ArrayBuffer | Uint8Array,
  program?: URL | string | ArrayBuffer | Uint8Array,
): Promise<Parser>;
