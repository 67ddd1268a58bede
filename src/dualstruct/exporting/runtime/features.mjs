// From tokens to rows of weights (core/text/extraction.hpp).

import { combine, hash, hashText } from "./hashing.mjs";
import { clustersOf, phrasesOf, said } from "./lists.mjs";
import { functionOf } from "./words.mjs";

// What is kept of words, and of words that lie beside each other (a power of 2).
const MOST_WORDS = 100000, MOST_JOINTS = 65536;

const mix = (key) => Math.imul(key, 0x9e3779b1);

// From hashes to numbers, by default the places of the keys; −1 for others. An entry lies in one cache line: the hash,
// and the number + 1.
export class Numbers {
  constructor(keys, values) {
    // 64-bit keys are seen as pairs, low half first.
    const wide = keys instanceof BigUint64Array;
    const halves = wide ? new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length) : keys;
    let bits = 4;
    while (2 ** bits < 2 * keys.length) bits++;
    this.shift = 32 - bits;
    this.mask = 2 ** bits - 1;
    const table = (this.table = new Uint32Array(4 * 2 ** bits));
    for (let i = 0; i < keys.length; i++) {
      const low = halves[wide ? 2 * i : i];
      let at = mix(low) >>> this.shift;
      while (table[4 * at + 2]) at = (at + 1) & this.mask;
      table[4 * at] = wide ? halves[2 * i + 1] : 0;
      table[4 * at + 1] = low;
      table[4 * at + 2] = values ? values[i] + 1 : i + 1;
    }
  }
  find(high, low) {
    const { table, mask } = this;
    let at = mix(low) >>> this.shift;
    while (table[4 * at + 2] !== 0) {
      if (table[4 * at + 1] === low && table[4 * at] === high) return table[4 * at + 2] - 1;
      at = (at + 1) & mask;
    }
    return -1;
  }
}

// Weights by the hashes of features: keep(begins, labels, values, K) says by which number each row is known, and
// add(rows, count, n, target, stride) adds `count` rows to `stride` numbers for each of n tokens.
export class Weights {
  constructor(arrays, name, shift, K) {
    const rows = this.keep(arrays[`${name}_begins`], arrays[`${name}_labels`], arrays[`${name}_values`], K);
    Object.assign(this, { table: new Numbers(arrays[`${name}_keys`], rows), shift });
  }
  find(high, low) {
    return this.shift ? this.table.find(0, high >>> (this.shift - 32)) : this.table.find(high, low);
  }
}

export const pair = (keys, n) => [Number(keys[n] >> 32n), Number(keys[n] & 0xffffffffn)];

// What terms read: a column of the tokens, or the marks of a list. Each word has an entry: the halves of its values, and
// the rows of templates of one term.
class Source {
  constructor(column, list) {
    Object.assign(this, { column, list, streams: [], firsts: [], alone: [], padded: new Int32Array(64) });
  }
  start(weights) {
    this.weights = weights;
    this.stride = this.streams.length + this.firsts.length;
    this.forget(1024);
  }
  forget(room) {
    this.entries = new Map();
    this.count = 0;
    this.resize(room);
  }
  resize(room) {
    const grown = (Kind, old, stride) => {
      const made = new Kind(room * stride);
      if (old) made.set(old.subarray(0, this.count * stride));
      return made;
    };
    const kept = this.count > 0;
    this.room = room;
    this.hi = grown(Uint32Array, kept && this.hi, this.stride);
    this.lo = grown(Uint32Array, kept && this.lo, this.stride);
    this.table = grown(Int32Array, kept && this.table, this.alone.length);
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
    const base = this.count * this.stride, { hi: H, lo: L } = this;
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
    this.alone.forEach((single, n) => {
      this.table[this.count * this.alone.length + n] = joined(single) ? this.weights.find(hash[0], hash[1]) : -1;
    });
    return this.count++;
  }
  // Writes the rows of all words in turn, from a place of `padded` on.
  fill(owner, first, last) {
    const { padded, table } = this, count = this.alone.length;
    for (let place = first; place < last; place++) owner.put(this, place, table, padded[place] * count);
  }
}

// The rows of templates of several terms whose words lie alike: the second's is `distances[1]` behind the first's. A place
// of the table keeps what was found for the words that were there last: their entries, then the rows.
class Joint {
  constructor(sources, distances) {
    Object.assign(this, { sources, distances, alone: [] });
  }
  start(size) {
    this.made = 0;
    this.size = size;
    this.shift = 32 - Math.log2(size);
    this.stride = this.sources.length + this.alone.length;
    this.table = new Int32Array(size * this.stride).fill(-1);
  }
  fill(owner, first, last) {
    if (this.made > this.size && this.size < MOST_JOINTS) this.start(2 * this.size);
    const { sources, distances, shift, stride, table } = this, count = sources.length;
    const one = sources[0].padded, two = sources[1].padded, step = distances[1];
    for (let place = first; place < last; place++) {
      const a = one[place], b = two[place + step];
      let key = mix(a) ^ b;
      for (let k = 2; k < count; k++) key = mix(key ^ (key >>> 15)) ^ sources[k].padded[place + distances[k]];
      const begin = (mix(key ^ (key >>> 15)) >>> shift) * stride;
      let same = table[begin] === a && table[begin + 1] === b;
      for (let k = 2; k < count; k++) same &&= table[begin + k] === sources[k].padded[place + distances[k]];
      if (!same) this.make(begin, place, owner);
      owner.put(this, place, table, begin + count);
    }
  }
  make(begin, place, owner) {
    const { sources, distances, alone, table } = this, count = sources.length;
    this.made++;
    for (let k = 0; k < count; k++) table[begin + k] = sources[k].padded[place + distances[k]];
    for (let n = 0; n < alone.length; n++) {
      table[begin + count + n] = owner.row(alone[n].terms, place - owner.reach - alone[n].offset, 0);
    }
  }
}

// The features that templates make of a sentence.
export class Templates {
  constructor(plan, arrays, weights, name, chars) {
    Object.assign(this, { weights, reach: plan.reach, sources: [], joints: [], others: [], chars });
    this.count = plan.templates.length;
    this.found = new Int32Array(0);
    this.lists = plan.lists.map((fold, n) => phrasesOf(arrays, n, fold && functionOf("lower", 0, chars)));
    const clusters = arrays.cluster_words && clustersOf(arrays);
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
    const joints = {};
    plan.templates.forEach((all, number) => {
      const identity = pair(arrays[`${name}_identities`], number);
      const terms = all.map(([stream, offset, absolute]) => {
        const [source, slot] = places[stream];
        return { source, slot, offset, absolute };
      });
      if (!terms.length) return this.others.push({ number, terms, bias: weights.find(identity[0], identity[1]) });
      const { source, slot, offset } = terms[0], fixed = terms.some((term) => term.absolute);
      if (terms.length === 1 && !fixed) return source.alone.push({ identity, slot, number, offset });
      source.firsts.push({ identity, slot });
      terms[0].slot = source.streams.length + source.firsts.length - 1;
      if (fixed) return this.others.push({ number, terms, bias: -1 });
      const distances = terms.map((term) => term.offset - offset), sources = terms.map((term) => term.source);
      const key = sources.map((each, k) => [this.sources.indexOf(each), distances[k]]);
      (joints[key] ??= new Joint(sources, distances)).alone.push({ terms, number, offset });
    });
    this.joints = Object.values(joints);
    this.columns = 1 + Math.max(0, ...this.sources.map((s) => s.column));
    this.boundaries = plan.boundaries;
    for (const source of this.sources) source.start(weights);
    this.forget();
    this.holders = [...this.sources, ...this.joints].filter((each) => each.alone.length);
    for (const each of this.holders) {
      each.slots = Int32Array.from(each.alone, (single) => single.number);
      each.offsets = Int32Array.from(each.alone, (single) => single.offset);
      each.first = Math.min(...each.offsets);
      each.last = Math.max(...each.offsets);
    }
  }

  forget() {
    for (const source of this.sources) {
      source.forget(1024);
      this.addEdges(source);
    }
    for (const joint of this.joints) joint.start(1024);
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

  // Adds the weights of each token's features, in the order of the templates, to its `stride` numbers.
  add(tokens, target, stride) {
    this.weights.add(this.rows(tokens), this.count, tokens.length, target, stride);
  }

  // The rows of all features, [tokens, templates], −1 where there is none.
  rows(tokens) {
    const n = tokens.length, { reach, count } = this;
    this.enter(tokens);
    if (this.found.length < n * count) this.found = new Int32Array(2 * n * count);
    const { found } = this;
    this.n = n;
    for (const holder of this.holders) holder.fill(this, reach + holder.first, n + reach + holder.last);
    for (const { number, terms, bias } of this.others) {
      for (let t = 0; t < n; t++) found[t * count + number] = terms.length ? this.row(terms, t, n) : bias;
    }
    return found;
  }

  put({ slots, offsets }, place, table, begin) {
    const { found, n, count } = this;
    for (let j = 0; j < slots.length; j++) {
      const t = place - this.reach - offsets[j];
      if (t >= 0 && t < n) found[t * count + slots[j]] = table[begin + j];
    }
  }

  // Finds the entries of all words.
  enter(tokens) {
    const n = tokens.length, { reach } = this;
    let least = Infinity, plain = true;
    for (let t = 0; t < n; t++) {
      const one = typeof tokens[t] === "string", wide = one ? 1 : tokens[t].length;
      if (!one) plain = false;
      if (wide < least) least = wide;
    }
    if (least < this.columns) throw new Error(`a token has ${least} of the ${this.columns} columns that the model wants`);
    if (this.sources.some((source) => source.count > MOST_WORDS)) this.forget();
    for (const source of this.sources) {
      const { column } = source;
      if (source.padded.length < n + 2 * reach) source.padded = new Int32Array(2 * (n + 2 * reach));
      const { padded } = source;
      for (let k = 0; k < reach; k++) {
        padded[reach - 1 - k] = k;
        padded[reach + n + k] = reach + k;
      }
      let words = tokens;
      const marked = source.list >= 0, bare = plain || marked;
      if (marked) words = this.lists[source.list](plain ? tokens : tokens.map((token) => token[column]));
      for (let t = 0; t < n; t++) padded[reach + t] = source.entry(bare ? words[t] : words[t][column]);
    }
  }

  // The row of a template of several terms.
  row(terms, t, n) {
    let high = 0, low = 0;
    for (let k = 0; k < terms.length; k++) {
      const term = terms[k], source = term.source, offset = term.offset;
      const place = term.absolute ? (offset < 0 ? n + offset : offset - 1) : t + offset;
      const at = source.padded[this.reach + place] * source.stride + term.slot;
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
}
