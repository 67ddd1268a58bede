// Labels that mark spans of tokens (dualstruct.labels.schemes).

const PREFIXES = { iob1: "BIIB", iob2: "BIIB", bilou: "BILU", bioes: "BIES" };

const isField = (label) => /^(I-)?<[^]*>$/.test(label);

// The prefix and the type of each label; they are GROBID's fields if all may be.
export function splitLabels(labels, fields = labels.every(isField)) {
  return labels.map((label) => {
    if (fields && isField(label)) {
      const field = label.replace("I-", "");
      return field === "<other>" ? ["O", ""] : [field === label ? "I" : "B", field];
    }
    return /^(O|[BIESLU](-.+)?)$/su.test(label) ? [label[0], label.slice(2)] : ["", label];
  });
}

export function areSpanLabels(labels) {
  const prefixes = splitLabels(labels).map(([prefix]) => prefix);
  return !prefixes.includes("") && prefixes.some((prefix) => prefix !== "O");
}

// Whether a span ends, or may start, between two labels, given as prefix and type.
export function parts([prefix, type], [next, other]) {
  return (
    prefix === "O" || next === "O" || type !== other || ["B", "S", "U", ""].includes(next) ||
    ["E", "L", "S", "U", ""].includes(prefix)
  );
}

// The spans of one sentence's labels, by conlleval's rules.
export function findSpans(labels, fields) {
  const found = [];
  let before = ["O", ""], start = 0;
  [...splitLabels(labels, fields), ["O", ""]].forEach((here, token) => {
    if (parts(before, here)) {
      if (before[0] !== "O") found.push({ label: before[1], start, end: token });
      start = token;
    }
    before = here;
  });
  return found;
}

// The labels of one sentence in another scheme.
export function convert(labels, source, to) {
  const written = labels.map(() => "O");
  let last = { label: "", end: -1 };
  for (const span of findSpans(labels, source === "grobid")) {
    if ((source === "grobid") !== (to === "grobid")) {
      span.label = to === "grobid" ? `<${span.label}>` : span.label.slice(1, -1);
    }
    const { label, start, end } = span;
    for (let t = start; t < end; t++) {
      if (to === "grobid") {
        written[t] = t === start ? `I-${label}` : label;
        continue;
      }
      let [first, inside, closing, only] = PREFIXES[to];
      if (to === "iob1" && !(last.end === start && last.label === label)) first = only = inside;
      const prefix = end - start === 1 ? only : t === start ? first : t === end - 1 ? closing : inside;
      written[t] = prefix + (label && `-${label}`);
    }
    last = span;
  }
  if (to !== "grobid") return written;
  return written.reduce((all, label) => {
    const outside = all.length > 0 && all[all.length - 1].endsWith("<other>");
    return [...all, label !== "O" ? label : outside ? "<other>" : "I-<other>"];
  }, []);
}
