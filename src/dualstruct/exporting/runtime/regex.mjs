// Regular expressions of Wapiti (core/text/regex.cpp): emitted if the templates have any.

import { codes, joined } from "./words.mjs";

const isBlank = (c) =>
  c === 32 || (c >= 9 && c <= 13) || c === 0x85 || c === 0xa0 || c === 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
  [0x2028, 0x2029, 0x202f, 0x205f, 0x3000].includes(c);

// A regular expression of Wapiti's: characters, classes such as \d, ? and *.
export class Regex {
  constructor(text, chars) {
    const isWord = (c) => chars.isLetter(c) || chars.isDigit(c);
    const classes = {
      a: (c) => chars.isLetter(c), d: (c) => chars.isDigit(c), l: (c) => chars.isLower(c),
      u: (c) => chars.isUpper(c), w: isWord, s: isBlank,
      p: (c) => !isWord(c) && !isBlank(c) && c >= 32 && !(c >= 0x7f && c < 0xa0),
    };
    const all = Array.from(text);
    this.fromStart = all[0] === "^";
    this.toEnd = false;
    this.items = [];
    for (let at = this.fromStart ? 1 : 0; at < all.length; at++) {
      if (all[at] === "$" && at + 1 === all.length) {
        this.toEnd = true;
        break;
      }
      const escaped = all[at] === "\\" && at + 1 < all.length;
      if (escaped) at++;
      const c = all[at], code = c.codePointAt(0), inside = classes[c.toLowerCase()];
      let fits = (other) => other === code;
      if (escaped && inside && /[a-z]/i.test(c)) fits = c >= "a" ? inside : (other) => !inside(other);
      else if (c === "." && !escaped) fits = () => true;
      const times = all[at + 1] === "*" || all[at + 1] === "?" ? all[++at] : "";
      this.items.push({ fits, times });
    }
  }

  search(text) {
    const word = codes(text), n = word.length, count = this.items.length, tried = new Set();
    for (let start = 0; start <= (this.fromStart ? 0 : n); start++) {
      const todo = [[0, start]];
      while (todo.length) {
        const [k, at] = todo.pop();
        if (tried.has(k * (n + 1) + at)) continue;
        tried.add(k * (n + 1) + at);
        if (k === count) {
          if (this.toEnd && at !== n) continue;
          return joined(word.slice(start, at));
        }
        const { fits, times } = this.items[k], here = at < n && fits(word[at]);
        if (times === "*") {
          if (here) todo.push([k, at + 1]);
          todo.push([k + 1, at]);
        } else {
          if (times === "?") todo.push([k + 1, at]);
          if (here) todo.push([k + 1, at + 1]);
        }
      }
    }
    return null;
  }
}
