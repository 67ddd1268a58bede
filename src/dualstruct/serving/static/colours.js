// Colours that are far from each other, however many there are.
export function hueOf(types, type) {
  return (25 + Math.max(types.indexOf(type), 0) * 137.5) % 360;
}
