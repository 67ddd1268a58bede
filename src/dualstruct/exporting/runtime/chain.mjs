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
    this.rivals = new Array(K).fill(null);
    this.emissions = this.maxima = new Float32Array(0);
  }

  // Beside a label that is the best of a token: what others can gain on it by a step that both may take; and the steps
  // that only others may take, as from, to and place.
  rivalsOf(best) {
    const { K, rows } = this, gains = new Float64Array(K).fill(NEVER), only = [];
    for (let j = 0; j < K; j++) {
      for (let k = 0; k < K; k++) {
        const own = rows[best * K + k], other = rows[j * K + k], more = other - own;
        if (other === NEVER) continue;
        if (own === NEVER) only.push(j, k, j * K + k);
        else gains[j] = Math.max(gains[j], more + Math.abs(more) * 1e-15); // rounded up
      }
    }
    return (this.rivals[best] = { gains, only: Int32Array.from(only) });
  }

  // The scores of labels, [tokens, labels], and of steps into tokens, [labels, labels] each. They last until the next call.
  scores(tokens, features, pairs) {
    const { K } = this, n = tokens.length;
    if (this.emissions.length < n * K + 3) this.emissions = new Float32Array(2 * n * K + 3);
    const { emissions } = this;
    emissions.fill(0, 0, n * K);
    features.add(tokens, emissions, K);
    const steps = new Array(n).fill(this.rows);
    if (pairs) {
      const all = new Float32Array(n * K * K);
      for (let t = 0; t < n; t++) (steps[t] = all.subarray(t * K * K, (t + 1) * K * K)).set(this.rows);
      pairs.add(tokens, all, K * K);
    }
    return { emissions, steps, n };
  }

  // The best labels: the first of equally good ones, from the last token backwards.
  best({ emissions, steps, n }) {
    const { K, rows, rivals } = this, best = new Float64Array(K);
    if (this.maxima.length < n * K) this.maxima = new Float32Array(2 * n * K);
    const { maxima } = this;
    let last = 0, highest = 0; // the best label of the token before, and its score
    for (let t = 0; t < n; t++) {
      const base = t * K;
      if (t === 0) {
        best.set(this.start);
      } else if (steps[t] === rows) {
        // Most labels are too far behind the best one to come before any label that it may come before.
        const before = base - K, { gains, only } = rivals[last] ?? this.rivalsOf(last);
        for (let k = 0; k < K; k++) best[k] = highest + rows[last * K + k];
        for (let j = 0; j < K; j++) {
          const behind = maxima[before + j];
          if (j === last || behind + gains[j] < highest) continue;
          for (let k = 0; k < K; k++) {
            const x = behind + rows[j * K + k];
            if (x > best[k]) best[k] = x;
          }
        }
        for (let i = 0; i < only.length; i += 3) {
          const k = only[i + 1], x = maxima[before + only[i]] + rows[only[i + 2]];
          if (x > best[k]) best[k] = x;
        }
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
        if (x > top) {
          top = x;
          last = k;
        }
      }
      if (t % SHIFT_INTERVAL === SHIFT_INTERVAL - 1 && top > NEVER) {
        top = Math.fround(top);
        for (let k = 0; k < K; k++) maxima[base + k] -= top;
      }
      highest = maxima[base + last];
    }
    const path = new Array(n);
    for (let t = n - 1, next = 0; t >= 0; t--) {
      const end = t === n - 1, step = end ? this.end : steps[t + 1];
      let top = NEVER, label = -1;
      for (let j = 0, at = next; j < K; j++, at += end ? 1 : K) {
        const x = Math.fround(maxima[t * K + j] + step[at]);
        if (x > top) {
          top = x;
          label = j;
        }
      }
      if (label < 0) throw new Error("no labelling of the sentence is allowed");
      path[t] = next = label;
    }
    return path;
  }
}
