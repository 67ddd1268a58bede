// Emitted if tokens are attributes.

import { hash, hashText } from "./hashing.mjs";

// Features that tokens state themselves: objects, arrays or sets of strings.
export class Attributes {
  constructor(weights) {
    this.weights = weights;
  }
  add(tokens, numbers, width) {
    const { ints, floats } = this.weights;
    tokens.forEach((token, t) => {
      if (typeof token === "string") throw new Error("a token is an object or an array of strings: the model knows attributes");
      stated(token, "", (name, value) => {
        if (value === 0) return;
        hashText(name);
        const row = this.weights.find(hash[0], hash[1]);
        if (row < 0) return;
        const by = Math.fround(value);
        for (let i = row + 1; i < ints[row]; i += 2) numbers[t * width + ints[i]] += Math.fround(by * floats[i + 1]);
      });
    });
  }
}

export function stated(value, name, add) {
  const begin = name && name + ":";
  if (typeof value === "string") add(begin + value, 1);
  else if (typeof value === "number" || typeof value === "boolean") add(name, Number(value));
  else if (value instanceof Set) for (const each of [...value].sort(byCodePoints)) add(begin + each, 1);
  else if (Array.isArray(value)) for (const each of value) add(begin + each, 1);
  else for (const key of Object.keys(value)) stated(value[key], begin + key, add);
}

// As Python sorts strings.
function byCodePoints(a, b) {
  const x = Array.from(a), y = Array.from(b);
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const difference = x[i].codePointAt(0) - y[i].codePointAt(0);
    if (difference) return difference;
  }
  return x.length - y.length;
}
