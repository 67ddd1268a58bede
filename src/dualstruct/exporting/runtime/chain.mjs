// The best labels of a sentence, and their probabilities (core/structures/chain). Scores are added up in single
// precision, in the order of the core: what is put into a Float32Array is rounded.

const SHIFT_INTERVAL = 64;
export const NEVER = -Infinity;

export class Chain {
  constructor(K, transition, allowed) {
    this.K = K;
    const masked = transition.map((w, n) => (!allowed || allowed[n] ? w : NEVER));
    const cell = (j, k) => masked[j * (K + 1) + k];
    this.rows = Float32Array.from({ length: K * K }, (_, n) => cell((n / K) | 0, n % K)); // [from, to]
    this.start = Float32Array.from({ length: K }, (_, k) => cell(K, k));
    this.end = Float32Array.from({ length: K }, (_, j) => cell(j, K));
  }

  // The scores of labels, [tokens, labels], and of steps into tokens, [labels, labels] each.
  scores(tokens, features, pairs) {
    const { K } = this, n = tokens.length, emissions = new Float32Array(n * K);
    const { table, labels, values } = features.weights;
    features.visit(tokens, (t, row, value) => {
      const base = t * K, end = table[row + 3];
      for (let i = table[row + 2] - 1; i < end; i++) {
        emissions[base + labels[i]] += value === 1 ? values[i] : Math.fround(value * values[i]);
      }
    });
    const steps = new Array(n).fill(this.rows);
    if (pairs) {
      const { table, labels, values } = pairs.weights;
      pairs.visit(tokens, (t, row) => {
        if (steps[t] === this.rows) steps[t] = this.rows.slice();
        for (let i = table[row + 2] - 1; i < table[row + 3]; i++) steps[t][labels[i]] += values[i];
      });
    }
    return { emissions, steps, n };
  }

  // The best labels: the first of equally good ones, from the last token backwards.
  best({ emissions, steps, n }) {
    const { K } = this, maxima = new Float32Array(n * K), best = new Float64Array(K);
    for (let t = 0; t < n; t++) {
      const base = t * K;
      if (t === 0) {
        best.set(this.start);
      } else {
        const step = steps[t];
        best.fill(NEVER);
        for (let j = 0, at = 0; j < K; j++) {
          const before = maxima[base - K + j];
          for (let k = 0; k < K; k++, at++) {
            const x = before + step[at];
            if (x > best[k]) best[k] = x;
          }
        }
      }
      let top = NEVER;
      for (let k = 0; k < K; k++) {
        const x = (maxima[base + k] = Math.fround(best[k]) + emissions[base + k]);
        if (x > top) top = x;
      }
      if (t % SHIFT_INTERVAL === SHIFT_INTERVAL - 1 && top > NEVER) {
        top = Math.fround(top);
        for (let k = 0; k < K; k++) maxima[base + k] -= top;
      }
    }
    const path = new Array(n);
    for (let t = n - 1; t >= 0; t--) {
      let top = NEVER, label = -1;
      for (let j = 0; j < K; j++) {
        const into = t === n - 1 ? this.end[j] : steps[t + 1][j * K + path[t + 1]];
        const x = Math.fround(maxima[t * K + j] + into);
        if (x > top) {
          top = x;
          label = j;
        }
      }
      if (label < 0) throw new Error("no labelling of the sentence is allowed");
      path[t] = label;
    }
    return path;
  }
}
