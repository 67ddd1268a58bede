// A parser: the core's own, in WebAssembly.

import { bytesOf, tokensOf, unpacked } from "./loading.mjs";
import { unpack } from "./packed.mjs";
import { Core } from "./wasm_core.mjs";

export class Parser {
  #core;

  constructor(core, header) {
    this.#core = core;
    this.relations = header.relations;
    this.columns = header.columns;
  }

  parse(words) {
    return this.parseAll([words])[0];
  }

  parseAll(sentences) {
    const lengths = Uint32Array.from(sentences, (words) => tokensOf(words).length);
    let text = "";
    for (const words of sentences) {
      for (const word of words) {
        for (const name of this.columns) {
          const cell = typeof word === "string" && name === "form" ? word : word[name];
          if (typeof cell !== "string") throw new Error(`a word has no ${name}, but the parser was trained with it`);
          text += cell + "\0";
        }
      }
    }
    const place = this.#core.call("parse", lengths.length, this.#core.hand([lengths], text));
    const all = this.#core.view(Int32Array, place, 2 * lengths.reduce((sum, n) => sum + n, 0));
    let at = 0;
    return sentences.map((words) => {
      const n = words.length, heads = all.subarray(at, at + n), relations = all.subarray(at + n, (at += 2 * n));
      return Array.from({ length: n }, (_, i) => ({ head: heads[i], relation: this.relations[relations[i]] }));
    });
  }
}

// The parser of model.bin, or of another place or its bytes; core.wasm lies beside this module.
export async function load(source = new URL("model.bin", import.meta.url), program = new URL("core.wasm", import.meta.url)) {
  const { header, arrays } = unpack(await unpacked(source));
  return new Parser(await Core.start(await bytesOf(program), arrays.core), header);
}
