// Weights of which a row holds one for each label: for tables that do not get large.

import { Weights } from "./features.mjs";

// Four labels are added up at a time, in variables: a number of an array would be written and read again for each row.
export class Dense extends Weights {
  keep(begins, labels, values, K) {
    const stride = K + (-K & 3), rows = new Uint32Array(begins.length - 1);
    this.floats = new Float32Array(rows.length * stride);
    for (let row = 0; row < rows.length; row++) {
      const begin = (rows[row] = row * stride);
      for (let i = begins[row]; i < begins[row + 1]; i++) this.floats[begin + labels[i]] = values[i];
    }
    return rows;
  }
  // Up to three numbers behind those of the last token are written to as well.
  add(rows, count, n, target, stride) {
    const { floats } = this, round = Math.fround, kept = new Int32Array(count);
    for (let t = 0, k = 0; t < n; t++) {
      let size = 0;
      for (const last = k + count; k < last; k++) if (rows[k] >= 0) kept[size++] = rows[k];
      for (let label = 0; label < stride; label += 4) {
        let a = round(0), b = a, c = a, d = a;
        for (let i = 0; i < size; i++) {
          const at = kept[i] + label;
          a = round(a + floats[at]);
          b = round(b + floats[at + 1]);
          c = round(c + floats[at + 2]);
          d = round(d + floats[at + 3]);
        }
        const at = t * stride + label;
        target[at] = a;
        target[at + 1] = b;
        target[at + 2] = c;
        target[at + 3] = d;
      }
    }
  }
}
