// From tokens to rows of weights (core/text/extraction.hpp).

import { combine, hash, hashText } from "./hashing.mjs";
import { functionOf } from "./words.mjs";

const MOST_WORDS = 100000;

// From hashes to places of a table, −1 for others. An entry lies in one cache line: the hash, and two numbers, the first
// of which is not 0: by default the place of the key, counted from 1.
class Numbers {
  constructor(keys, begins) {
    // 64-bit keys are seen as pairs, low half first.
    const wide = keys instanceof BigUint64Array;
    const halves = wide ? new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length) : keys;
    let bits = 4;
    while (2 ** bits < 2 * keys.length) bits++;
    this.shift = 32 - bits;
    this.mask = 2 ** bits - 1;
    this.table = new Uint32Array(4 * 2 ** bits);
    for (let i = 0; i < keys.length; i++) {
      const low = halves[wide ? 2 * i : i], high = wide ? halves[2 * i + 1] : 0;
      let at = Math.imul(low, 0x9e3779b1) >>> this.shift;
      while (this.table[4 * at + 2]) at = (at + 1) & this.mask;
      this.table.set([high, low, begins ? begins[i] + 1 : i + 1, begins ? begins[i + 1] : 0], 4 * at);
    }
  }
  place(high, low) {
    const { table, mask } = this;
    let at = Math.imul(low, 0x9e3779b1) >>> this.shift;
    while (table[4 * at + 2] !== 0) {
      if (table[4 * at + 1] === low && table[4 * at] === high) return 4 * at;
      at = (at + 1) & mask;
    }
    return -1;
  }
  find(high, low) {
    const at = this.place(high, low);
    return at < 0 ? at : this.table[at + 2] - 1;
  }
}

// Weights by the hashes of features: those of the row r are from table[r + 2] − 1 to table[r + 3].
export class Weights {
  constructor(arrays, name, shift) {
    this.labels = arrays[`${name}_labels`];
    this.values = arrays[`${name}_values`];
    this.numbers = new Numbers(arrays[`${name}_keys`], arrays[`${name}_begins`]);
    this.table = this.numbers.table;
    this.shift = shift;
  }
  find(high, low) {
    return this.shift ? this.numbers.place(0, high >>> (this.shift - 32)) : this.numbers.place(high, low);
  }
}

// A list of phrases that is looked for in sentences: B on the first word of one, I on its others.
function marks(prefixes, isPhrase, words) {
  const found = new Array(words.length).fill("");
  for (let token = 0; token < words.length; ) {
    let h = [0, 0], matched = token;
    for (let end = token; end < words.length; ) {
      hashText(words[end]);
      combine(h[0], h[1], hash[0], hash[1]);
      h = [hash[0], hash[1]];
      const id = prefixes.find(hash[0], hash[1]);
      if (id < 0) break;
      end++;
      if (isPhrase[id]) matched = end;
    }
    if (matched === token) {
      token++;
      continue;
    }
    found.fill("I", token, matched);
    found[token] = "B";
    token = matched;
  }
  return found;
}

// What terms read: a column of the tokens, or the marks of a list. Each word has an entry: the halves of its values, and
// the rows of templates of one term.
class Source {
  constructor(column, list) {
    Object.assign(this, { column, list, streams: [], firsts: [], singles: [] });
  }
  start(weights) {
    this.weights = weights;
    this.width = this.streams.length + this.firsts.length;
    this.forget(1024);
  }
  forget(room) {
    this.entries = new Map();
    this.count = 0;
    this.resize(room);
  }
  resize(room) {
    const grown = (Kind, old, width) => {
      const made = new Kind(room * width);
      if (old) made.set(old.subarray(0, this.count * width));
      return made;
    };
    const kept = this.count > 0;
    this.room = room;
    this.hi = grown(Uint32Array, kept && this.hi, this.width);
    this.lo = grown(Uint32Array, kept && this.lo, this.width);
    this.rows = grown(Int32Array, kept && this.rows, this.singles.length);
  }
  entry(word) {
    const found = this.entries.get(word);
    if (found !== undefined) return found;
    if (this.count === this.room) this.resize(2 * this.room);
    const made = this.make(word, this.streams);
    this.entries.set(word, made);
    return made;
  }
  make(word, streams) {
    const base = this.count * this.width, { hi: H, lo: L } = this;
    streams.forEach((stream, slot) => {
      const some = stream(word);
      H[base + slot] = some ? hash[0] : 0;
      L[base + slot] = some ? hash[1] : 0;
    });
    const joined = ({ identity, slot }) => {
      const some = H[base + slot] || L[base + slot];
      if (some) combine(identity[0], identity[1], H[base + slot], L[base + slot]);
      return some;
    };
    this.firsts.forEach((first, n) => {
      const some = joined(first), at = base + streams.length + n;
      H[at] = some ? hash[0] : 0;
      L[at] = some ? hash[1] : 0;
    });
    this.singles.forEach((single, n) => {
      this.rows[this.count * this.singles.length + n] = joined(single) ? this.weights.find(hash[0], hash[1]) : -1;
    });
    return this.count++;
  }
}

const pair = (keys, n) => [Number(keys[n] >> 32n), Number(keys[n] & 0xffffffffn)];

// The features that templates make of a sentence.
export class Templates {
  constructor(plan, arrays, weights, name, chars) {
    Object.assign(this, { weights, reach: plan.reach, sources: [], chars });
    this.lists = plan.lists.map((fold, n) => {
      const prefixes = new Numbers(arrays[`list${n}_prefixes`]), isPhrase = arrays[`list${n}_phrases`];
      const lower = functionOf("lower", 0, chars);
      return (words) => marks(prefixes, isPhrase, fold ? words.map(lower) : words);
    });
    const clusters = clustersOf(arrays);
    const places = plan.streams.map(([column, list, learned, functions]) => {
      let source = this.sources.find((s) => s.column === column && s.list === list);
      if (!source) this.sources.push((source = new Source(column, list)));
      const made = functions.map(([f, argument]) => functionOf(f, argument, chars, clusters));
      const value = (word) => {
        for (const f of made) {
          word = f(word);
          if (word === null || word === undefined) return false;
        }
        hashText(word);
        return true;
      };
      const mark = (letter) => letter !== "" && (hashText(letter), true);
      source.streams.push(list >= 0 ? mark : learned >= 0 ? said(arrays, learned, value) : value);
      return [source, source.streams.length - 1];
    });
    this.steps = plan.templates.map((all, n) => {
      const identity = pair(arrays[`${name}_identities`], n);
      const terms = all.map(([stream, offset, absolute]) => {
        const [source, slot] = places[stream];
        return { source, slot, offset, absolute };
      });
      // All steps have the same fields, so that they are read quickly.
      const step = { source: null, slot: 0, offset: 0, terms, bias: -1 };
      if (!terms.length) step.bias = weights.find(identity[0], identity[1]);
      if (!terms.length) return step;
      const { source, slot, offset, absolute } = terms[0];
      if (terms.length === 1 && !absolute) {
        source.singles.push({ identity, slot });
        return Object.assign(step, { source, slot: source.singles.length - 1, offset, terms: null });
      }
      source.firsts.push({ identity, slot });
      terms[0].slot = source.streams.length + source.firsts.length - 1;
      return step;
    });
    this.columns = 1 + Math.max(0, ...this.sources.map((s) => s.column));
    this.boundaries = plan.boundaries;
    for (const source of this.sources) {
      source.start(weights);
      this.addEdges(source);
    }
  }

  // Entries 0 … reach − 1 stand before a sentence, the next ones behind it, the nearest first.
  addEdges(source) {
    const [before, after, close, counted, applied] = this.boundaries;
    for (const begin of [before, after]) {
      for (let k = 1; k <= this.reach; k++) {
        const text = begin + (k > counted ? "#" : k) + close;
        const plain = source.list >= 0 ? () => false : (word) => (hashText(word), true);
        source.make(text, source.streams.map((stream) => (applied ? stream : plain)));
      }
    }
  }

  // Calls visit(token, row) for the rows of each token's features, in the order of the templates.
  visit(tokens, visit) {
    const n = tokens.length, reach = this.reach, columns = this.columnsOf(tokens);
    for (const source of this.sources) {
      if (source.count > MOST_WORDS) {
        source.forget(1024);
        this.addEdges(source);
      }
      let words = columns[source.column];
      if (source.list >= 0) words = this.lists[source.list](words);
      const padded = (source.padded = new Int32Array(n + 2 * reach));
      for (let k = 0; k < reach; k++) {
        padded[reach - 1 - k] = k;
        padded[reach + n + k] = reach + k;
      }
      for (let t = 0; t < n; t++) padded[reach + t] = source.entry(words[t]);
    }
    const { steps } = this;
    for (let t = 0; t < n; t++) {
      for (let k = 0; k < steps.length; k++) {
        const step = steps[k], source = step.source;
        let row = step.bias;
        if (source !== null) {
          row = source.rows[source.padded[reach + t + step.offset] * source.singles.length + step.slot];
        } else if (step.terms.length) {
          row = this.joint(step.terms, t, n);
        }
        if (row >= 0) visit(t, row, 1);
      }
    }
  }

  joint(terms, t, n) {
    let high = 0, low = 0;
    for (let k = 0; k < terms.length; k++) {
      const term = terms[k], source = term.source, offset = term.offset;
      const place = term.absolute ? (offset < 0 ? n + offset : offset - 1) : t + offset;
      const at = source.padded[this.reach + place] * source.width + term.slot;
      const value_hi = source.hi[at], value_lo = source.lo[at];
      if (value_hi === 0 && value_lo === 0) return -1;
      if (k === 0) {
        high = value_hi;
        low = value_lo;
      } else {
        combine(high, low, value_hi, value_lo);
        high = hash[0];
        low = hash[1];
      }
    }
    return this.weights.find(high, low);
  }

  columnsOf(tokens) {
    const plain = tokens.every((token) => typeof token === "string");
    const width = plain ? 1 : Math.min(...tokens.map((token) => token.length));
    if (width < this.columns) throw new Error(`a token has ${width} columns; the model wants ${this.columns}`);
    return plain ? [tokens] : Array.from({ length: width }, (_, c) => tokens.map((token) => token[c]));
  }
}

// What training says of a word: from the hash of its value to that of what is said.
function said(arrays, n, value) {
  const identity = pair(arrays.learned_identities, n);
  const keys = new Numbers(arrays[`learned${n}_keys`]), values = arrays[`learned${n}_values`];
  const all = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  return (word) => {
    let at = values.length - 1;
    if (value(word)) {
      combine(identity[0], identity[1], hash[0], hash[1]);
      const found = keys.find(hash[0], hash[1]);
      if (found >= 0) at = found;
    }
    hash[0] = all[2 * at + 1];
    hash[1] = all[2 * at];
    return true;
  };
}

function clustersOf(arrays) {
  if (!arrays.cluster_words) return () => null;
  const words = new Numbers(arrays.cluster_words), text = new TextDecoder().decode(arrays.cluster_paths);
  const { cluster_ends: ends, cluster_numbers: numbers } = arrays;
  return (word) => {
    hashText(word);
    const found = words.find(hash[0], hash[1]);
    return found < 0 ? null : text.slice(numbers[found] ? ends[numbers[found] - 1] : 0, ends[numbers[found]]) || null;
  };
}
