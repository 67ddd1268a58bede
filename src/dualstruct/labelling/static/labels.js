// Labels of tokens and the spans that they mark, and how they change. No page here.

export function typeOf(label) {
  return label === "O" ? null : label.slice(2);
}

// [{type, start, end}], the end not included.
export function spansOf(labels) {
  const found = [];
  labels.forEach((label, t) => {
    const last = found[found.length - 1];
    if (label === "O") return;
    if (label[0] === "I" && last && last.end === t && last.type === typeOf(label)) last.end = t + 1;
    else found.push({ type: typeOf(label), start: t, end: t + 1 });
  });
  return found;
}

export function labelsOf(spans, length) {
  const labels = new Array(length).fill("O");
  for (const { type, start, end } of spans) {
    for (let t = start; t < end; t++) labels[t] = (t === start ? "B-" : "I-") + type;
  }
  return labels;
}

// The labels with a span more; others that it touches are gone.
export function withSpan(labels, type, start, end) {
  const others = spansOf(labels).filter((span) => span.end <= start || span.start >= end);
  return labelsOf([...others, { type, start, end }], labels.length);
}

// The labels without the spans that touch some tokens.
export function withoutSpans(labels, start, end) {
  return labelsOf(spansOf(labels).filter((span) => span.end <= start || span.start >= end), labels.length);
}

export function spanAt(labels, t) {
  return spansOf(labels).find((span) => span.start <= t && t < span.end) ?? null;
}
