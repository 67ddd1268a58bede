// Shows a sentence with its labels: spans in colours, or a label under each token.

import { make, percent } from "../shared/elements.js";
import { hueOf } from "../shared/colours.js";
import { spanAt, spansOf } from "./labels.js";

function tinted(element, types, type) {
  element.style.setProperty("--hue", hueOf(types, type));
  return element;
}

function token(view, t) {
  const { words, labels, sure, kind, types, asked } = view;
  const type = kind === "spans" ? spanAt(labels, t)?.type : labels[t];
  const doubt = sure ? 1 - sure[t] : 0;
  const given = asked && !asked.includes(t);
  const name = [words[t], type ?? "no label", sure ? `${percent(sure[t])} sure` : null, given ? "not asked about" : null].filter(Boolean).join(", ");
  const element = make(
    "button",
    { type: "button", class: "token", "data-t": t, tabindex: "-1", "aria-label": name, title: sure && doubt > 0.05 ? `${percent(sure[t])} sure` : null },
    words[t],
    kind === "spans" ? null : tinted(make("span", { class: "tag" }, labels[t] || "·"), types, labels[t]),
  );
  if (given) element.classList.add("given");
  if (doubt > 0.05) {
    element.classList.add("unsure");
    element.style.setProperty("--doubts", Math.min(0.35 + doubt, 1).toFixed(2));
  }
  return element;
}

// The sentence as elements; `tools` adds a button to each span that removes it.
export function render(view, tools = true) {
  const { words, gaps, labels, kind, types } = view;
  if (kind !== "spans") return words.flatMap((_, t) => [gaps[t], token(view, t)]);
  const parts = [];
  const starts = new Map(spansOf(labels).map((span) => [span.start, span]));
  let t = 0;
  while (t < words.length) {
    const span = starts.get(t);
    if (!span) {
      parts.push(gaps[t], token(view, t));
      t += 1;
      continue;
    }
    parts.push(gaps[t]);
    const around = tinted(make("span", { class: "span" }), types, span.type);
    for (let k = span.start; k < span.end; k++) around.append(k > span.start ? gaps[k] : "", token(view, k));
    around.append(make("span", { class: "tag", "aria-hidden": "true" }, span.type));
    if (tools) around.append(make("button", { type: "button", class: "gone", "data-remove": span.start, tabindex: "-1", "aria-label": `Remove ${span.type}` }, "×"));
    parts.push(around);
    t = span.end;
  }
  return parts;
}
