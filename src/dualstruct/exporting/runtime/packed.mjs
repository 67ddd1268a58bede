// The form in which models are packed (dualstruct.exporting.packing).

const KINDS = { B: Uint8Array, H: Uint16Array, I: Uint32Array, Q: BigUint64Array, f: Float32Array };

// The header and the arrays of a packed model.
export function unpack(buffer) {
  const view = new DataView(buffer), decoder = new TextDecoder();
  if (decoder.decode(new Uint8Array(buffer, 0, 4)) !== "DSX1") throw new Error("this is no exported model");
  const size = view.getUint32(4, true), header = JSON.parse(decoder.decode(new Uint8Array(buffer, 8, size)));
  const begin = 8 + size + ((8 - (size % 8)) % 8), arrays = {};
  for (const [name, [kind, offset, length]] of Object.entries(header.arrays)) {
    arrays[name] = new KINDS[kind](buffer, begin + offset, length);
  }
  return { header, arrays };
}
