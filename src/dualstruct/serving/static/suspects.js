// The training sentences with which the model disagrees, those most worth a look first.

import { make, sentence } from "./elements.js";

// `tryOut` puts a sentence on the other tab; null where words alone do not make a sentence.
export function suspects(found, tryOut) {
  if (found.state !== "ready") {
    return [make("p", { class: found.state === "failed" ? "problem" : "soft" }, sentence(found.message))];
  }
  if (!found.suspects.length) return [make("p", { class: "soft" }, "There are none.")];
  return [
    make("p", { class: "soft" }, "Sentences whose labels look wrong to a model that was trained on the other sentences. The model may be wrong, too. The most suspicious come first."),
    make("ol", { class: "suspects" }, found.suspects.map((each) => item(each, tryOut))),
  ];
}

function item(suspect, tryOut) {
  const doubted = new Set(suspect.doubts.map((doubt) => doubt.token));
  const words = suspect.forms.flatMap((form, t) => [doubted.has(t + 1) ? make("mark", {}, form) : form, " "]);
  const button = tryOut && make("button", { type: "button" }, "Look at it");
  button?.addEventListener("click", () => tryOut(suspect.forms.join(" ")));
  const doubts = suspect.doubts.map((doubt) => make("li", {}, `${doubt.form}: ${doubt.given}${sure(doubt.given_probability)}, the model says ${doubt.predicted}${sure(doubt.predicted_probability)}: ${doubt.kind}`));
  return make(
    "li",
    {},
    make("div", { class: "line" }, make("p", {}, words), button),
    make("p", { class: "soft" }, `${suspect.where}, score ${suspect.score.toFixed(3)}`),
    doubts.length ? make("ul", {}, doubts) : make("p", { class: "soft" }, "The model agrees, but is not sure."),
  );
}

function sure(probability) {
  return probability === null ? "" : ` (${probability.toPrecision(2)})`;
}
