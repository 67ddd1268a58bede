// Probabilities of labels and spans, from the scores of a sentence.

import { NEVER } from "./chain.mjs";

function logSum(values) {
  let top = NEVER, sum = 0;
  for (const x of values) if (x > top) top = x;
  if (top === NEVER) return top;
  for (const x of values) sum += Math.exp(x - top);
  return top + Math.log(sum);
}

// Logarithms of sums over labellings, p ∝ exp(β·score): those of all up to a token, and of all from it on.
export class Beliefs {
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
