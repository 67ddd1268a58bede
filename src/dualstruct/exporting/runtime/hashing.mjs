// 64-bit hashes of texts, as pairs of 32-bit numbers (core/text/hash.hpp). The last result is in `hash`.

export const hash = new Uint32Array(2); // numbers of 32 bits need no object there

const A_HI = 0x9e3779b9, A_LO = 0x7f4a7c15, B_HI = 0xd6e8feb8, B_LO = 0x6659fd93;

// (hi, lo) ← (ah, al) · (bh, bl) modulo 2^64.
function multiply(ah, al, bh, bl) {
  const a0 = al & 0xffff, a1 = al >>> 16, b0 = bl & 0xffff, b1 = bl >>> 16;
  const low = a0 * b0;
  const middle = a1 * b0 + (low >>> 16);
  const other = a0 * b1 + (middle & 0xffff);
  hash[0] = (a1 * b1 + (middle >>> 16) + (other >>> 16) + Math.imul(ah, bl) + Math.imul(al, bh)) >>> 0;
  hash[1] = Math.imul(al, bl) >>> 0;
}

function step(word_hi, word_lo) {
  multiply(hash[0] ^ word_hi, hash[1] ^ word_lo, A_HI, A_LO);
  hash[1] = (hash[1] ^ hash[0]) >>> 0;
}

// One more value folded into a hash.
export function combine(h_hi, h_lo, value_hi, value_lo) {
  const sum = h_lo + value_lo;
  multiply((h_hi + value_hi + (sum > 0xffffffff ? 1 : 0)) >>> 0, sum >>> 0, B_HI, B_LO);
  multiply(hash[0], hash[1] ^ hash[0], A_HI, A_LO);
  const low = hash[1] ^ ((hash[0] << 3) | (hash[1] >>> 29));
  hash[0] = (hash[0] ^ (hash[0] >>> 29)) >>> 0;
  hash[1] = low >>> 0;
}

const encoder = new TextEncoder();
let bytes = new Uint8Array(256);

// The hash of a string; never 0, which stands for "no value".
export function hashText(text) {
  if (bytes.length < 3 * text.length) bytes = new Uint8Array(6 * text.length);
  const n = encoder.encodeInto(text, bytes).written;
  const word = (i) => bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
  multiply(0, n, A_HI, A_LO);
  hash[0] = (hash[0] ^ B_HI) >>> 0;
  hash[1] = (hash[1] ^ B_LO) >>> 0;
  if (n >= 8) {
    for (let i = 0; i + 8 < n; i += 8) step(word(i + 4), word(i));
    step(word(n - 4), word(n - 8));
  } else if (n >= 4) {
    step(word(n - 4), word(0));
  } else if (n > 0) {
    step(0, bytes[0] | (bytes[n >> 1] << 8) | (bytes[n - 1] << 16));
  }
  const low = hash[1] ^ ((hash[0] << 3) | (hash[1] >>> 29));
  multiply(hash[0] ^ (hash[0] >>> 29), low, B_HI, B_LO);
  hash[1] = (hash[1] ^ hash[0]) >>> 0;
  if (hash[0] === 0 && hash[1] === 0) hash[1] = 1;
}
