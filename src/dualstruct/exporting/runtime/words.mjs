// Functions of words: what templates ask of them (core/text/attributes.cpp, regex.cpp). Tables of characters come with
// the model: they are those of the Python that exported it.

import { Regex } from "./regex.mjs";

const IS = { upper: 1, lower: 2, digit: 4, letter: 8, space: 16, mark: 32 };

export class Characters {
  constructor(arrays) {
    this.flags = new Uint8Array(0x110000);
    for (const [name, flag] of Object.entries(IS)) {
      const ends = arrays[`${name}_characters`];
      for (let i = 0; i < ends.length; i += 2) {
        for (let c = ends[i]; c < ends[i + 1]; c++) this.flags[c] |= flag;
      }
    }
    this.small = new Map();
    arrays.lower_from.forEach((c, i) => this.small.set(c, arrays.lower_to[i]));
  }
  isUpper(c) { return (this.flags[c] & 1) !== 0; }
  isLower(c) { return (this.flags[c] & 2) !== 0; }
  isDigit(c) { return (this.flags[c] & 4) !== 0; }
  isLetter(c) { return (this.flags[c] & 8) !== 0; }
  isSpace(c) { return (this.flags[c] & 16) !== 0; }
  isMark(c) { return (this.flags[c] & 32) !== 0; }
  toLower(c) { return this.small.get(c) ?? c; }
}

export const codes = (text) => Array.from(text, (c) => c.codePointAt(0));
export const joined = (list) => list.reduce((text, c) => text + String.fromCodePoint(c), "");

// What a function makes of a word; null if nothing. They are made for a table of characters and clusters.
export function functionOf(name, argument, chars, clusters) {
  const shape = (c) => (chars.isUpper(c) ? 88 : chars.isLower(c) ? 120 : chars.isDigit(c) ? 100 : c);
  const map = (change) => (word) => joined(codes(word).map(change));
  switch (name) {
    case "lower": return map((c) => chars.toLower(c));
    case "digits": return map((c) => (chars.isDigit(c) ? 48 : c));
    case "shape": return map(shape);
    case "shortshape":
      return (word) => joined(codes(word).map(shape).filter((c, i, all) => i === 0 || c !== all[i - 1]));
    case "kind": return (word) => kind(codes(word), chars);
    case "prefix": return (word) => ((w) => (w.length > argument ? joined(w.slice(0, argument)) : null))(codes(word));
    case "suffix": return (word) => ((w) => (w.length > argument ? joined(w.slice(-argument)) : null))(codes(word));
    case "cluster": return (word) => ((path) => path && (argument ? path.slice(0, argument) : path))(clusters(word));
  }
  const regex = new Regex(argument, chars);
  if (name === "match") return (word) => regex.search(word) ?? "";
  return (word) => (regex.search(word) === null ? "false" : "true");
}

function kind(word, chars) {
  const cased = word.filter((c) => chars.isUpper(c) || chars.isLower(c));
  const upper = cased.filter((c) => chars.isUpper(c)).length;
  const letter = word.some((c) => chars.isLetter(c)), digit = word.some((c) => chars.isDigit(c));
  let found = letter ? "letter" : digit ? "number" : "symbol";
  if (cased.length) {
    const title = upper === 1 && chars.isUpper(cased[0]);
    found = upper === cased.length ? "upper" : upper === 0 ? "lower" : title ? "title" : "mixed";
  }
  if (digit && (letter || cased.length)) found += ",digit";
  return word.includes(45) ? found + ",hyphen" : found;
}
