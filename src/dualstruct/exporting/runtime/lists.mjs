// What templates know of words beside their letters: lists of phrases, clusters, and what training says. Emitted if they
// ask for one of these.

import { Numbers, pair } from "./features.mjs";
import { combine, hash, hashText } from "./hashing.mjs";

// A list of phrases that is looked for in sentences: B on the first word of one, I on its others.
export function phrasesOf(arrays, n, lower) {
  const prefixes = new Numbers(arrays[`list${n}_prefixes`]), isPhrase = arrays[`list${n}_phrases`];
  return (words) => marks(prefixes, isPhrase, lower ? words.map(lower) : words);
}

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

// What training says of a word: from the hash of its value to that of what is said.
export function said(arrays, n, value) {
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

export function clustersOf(arrays) {
  const words = new Numbers(arrays.cluster_words), text = new TextDecoder().decode(arrays.cluster_paths);
  const { cluster_ends: ends, cluster_numbers: numbers } = arrays;
  return (word) => {
    hashText(word);
    const found = words.find(hash[0], hash[1]);
    return found < 0 ? null : text.slice(numbers[found] ? ends[numbers[found] - 1] : 0, ends[numbers[found]]) || null;
  };
}
