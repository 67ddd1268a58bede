// Weights of which a row holds those that are not 0: for attributes, pairs of labels and large tables.

import { Weights } from "./features.mjs";

// A row is known by where it begins in one array: where it ends, then labels and weights in turn.
export class Sparse extends Weights {
  keep(begins, labels, values) {
    const count = begins.length - 1, rows = new Uint32Array(count);
    const ints = (this.ints = new Int32Array(count + 2 * labels.length));
    const floats = (this.floats = new Float32Array(ints.buffer));
    for (let row = 0, at = 0; row < count; row++) {
      const begin = (rows[row] = at++);
      for (let i = begins[row]; i < begins[row + 1]; i++) {
        ints[at++] = labels[i];
        floats[at++] = values[i];
      }
      ints[begin] = at;
    }
    return rows;
  }
  add(rows, count, n, target, stride) {
    const { ints, floats } = this;
    for (let t = 0, k = 0; t < n; t++) {
      for (const last = k + count; k < last; k++) {
        const row = rows[k], end = row < 0 ? 0 : ints[row];
        for (let i = row + 1; i < end; i += 2) target[t * stride + ints[i]] += floats[i + 1];
      }
    }
  }
}
