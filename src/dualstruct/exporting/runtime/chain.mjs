// The best labels of a sentence, and their probabilities (core/structures/chain). Scores are added up in single
// precision, in the order of the core: what is put into a Float32Array is rounded.

const SHIFT_INTERVAL = 64;
const NEVER = -Infinity;

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

  beliefs(scores, beta) {
    return new Beliefs(this, scores, beta);
  }
}

function logSum(values) {
  let top = NEVER, sum = 0;
  for (const x of values) if (x > top) top = x;
  if (top === NEVER) return top;
  for (const x of values) sum += Math.exp(x - top);
  return top + Math.log(sum);
}

// Logarithms of sums over labellings, p ∝ exp(β·score): those of all up to a token, and of all from it on.
class Beliefs {
  constructor({ K, start, end }, { emissions, steps, n }, beta) {
    const all = Array.from({ length: K }, (_, k) => k), scratch = new Float64Array(K);
    Object.assign(this, { n, all });
    this.emission = (t, k) => beta * emissions[t * K + k];
    this.step = (t, j, k) => beta * steps[t][j * K + k];
    const sum = (term) => {
      for (let j = 0; j < K; j++) scratch[j] = term(j);
      return logSum(scratch);
    };
    this.forward = [all.map((k) => beta * start[k] + this.emission(0, k))];
    for (let t = 1; t < n; t++) {
      const before = this.forward[t - 1];
      this.forward.push(all.map((k) => sum((j) => before[j] + this.step(t, j, k)) + this.emission(t, k)));
    }
    this.backward = new Array(n);
    this.backward[n - 1] = all.map((k) => beta * end[k]);
    for (let t = n - 1; t > 0; t--) {
      const after = this.backward[t].map((b, k) => b + this.emission(t, k));
      this.backward[t - 1] = all.map((j) => sum((k) => after[k] + this.step(t, j, k)));
    }
    this.total = logSum(this.forward[n - 1].map((f, k) => f + this.backward[n - 1][k]));
  }

  // The probability of each label at each token.
  labels() {
    return this.forward.map((row, t) => row.map((f, k) => Math.exp(Math.min(f + this.backward[t][k] - this.total, 0))));
  }

  // The probability that tokens start … end − 1 are a span whose labels are `inside`.
  span(inside, parts, start, end) {
    let here = inside.map((k) => this.forward[start][k]);
    if (start) {
      const before = this.forward[start - 1];
      here = inside.map(
        (k) => logSum(this.all.map((j) => (parts(j, k) ? before[j] + this.step(start, j, k) : NEVER))) + this.emission(start, k),
      );
    }
    for (let t = start + 1; t < end; t++) {
      const last = here;
      here = inside.map(
        (k) => logSum(inside.map((j, n) => (parts(j, k) ? NEVER : last[n] + this.step(t, j, k)))) + this.emission(t, k),
      );
    }
    here = here.map((h, n) => {
      const j = inside[n];
      if (end === this.n) return h + this.backward[end - 1][j];
      const after = (k) => this.backward[end][k] + this.emission(end, k) + this.step(end, j, k);
      return h + logSum(this.all.map((k) => (parts(j, k) ? after(k) : NEVER)));
    });
    return Math.exp(Math.min(logSum(here) - this.total, 0));
  }
}
