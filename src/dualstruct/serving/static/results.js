// Shows an output: labels as a row of buttons, a tree as arcs over the words.

import { hueOf } from "./colours.js";
import { draw, make, percent, roving } from "./elements.js";

const ROOT = "root";
const PREFIXED = /^[BILUES]-/u;

let types = []; // of the labels that the model knows: each has a colour

export function setLabels(labels) {
  types = [...new Set(labels.map(typeOf))].filter((type) => type !== "O");
}

function typeOf(label) {
  return label.replace(PREFIXED, "");
}

// A label in its colour; what is outside of spans has none.
function tinted(element, label) {
  if (label === "O") element.classList.add("outside");
  else element.style.setProperty("--hue", hueOf(types, typeOf(label)));
  return element;
}

// A sentence as text, with spans (or labels) in colours; a tree as its words.
export function coloured(answer) {
  if (!answer.labels) return [answer.tokens.join(" ")];
  return answer.tokens.flatMap((word, t) => {
    const label = answer.labels[t];
    if (label === "O") return [word, " "];
    const goes = (answer.labels[t + 1] ?? "O") !== "O" && /^[IE]-/u.test(answer.labels[t + 1]);
    const part = tinted(make("span", { class: "part" }, word), label);
    if (!goes) part.append(make("span", { class: "type" }, typeOf(label)));
    return [part, " "];
  });
}

// What a screen reader says of a token, and what the list of alternatives says.
export function described(answer, output, t) {
  if (output.labels) return output.labels[t];
  const head = output.heads[t];
  return `${output.relations[t]} of ${head === 0 ? ROOT : answer.tokens[head - 1]}`;
}

// The tokens, from 0, of which two outputs for the same words say different things.
export function differences(one, other) {
  return one.tokens.map((_, t) => t).filter((t) => described(one, one, t) !== described(other, other, t));
}

// `output` is the best one or an alternative; `choose` is called with the number of a token, from 1. What differs from
// `than`, or from the best one, is marked.
export function show(place, answer, output, choose, than = answer) {
  const changed = (t) => output !== than && described(answer, output, t) !== described(than, than, t);
  const shown = answer.picture ? tree(answer, output, choose, changed) : labels(answer, output, choose, changed);
  place.replaceChildren(shown);
}

export function mark(place, token) {
  for (const each of place.querySelectorAll("[data-token]")) {
    each.setAttribute("aria-pressed", String(Number(each.dataset.token) === token));
  }
}

export function focusToken(place, token) {
  place.querySelector(`[data-token="${token}"]`)?.focus();
}

function labels(answer, output, choose, changed) {
  const best = output === answer;
  const items = answer.tokens.map((word, t) => {
    const label = tinted(make("span", { class: "label" }, output.labels[t]), output.labels[t]);
    label.style.setProperty("--sure", best ? answer.confidence[t] : 0);
    const button = make(
      "button",
      { type: "button", "data-token": t + 1, "aria-pressed": "false", class: changed(t) ? "other" : null },
      make("span", { class: "word" }, word),
      label,
      best ? make("span", { class: "sure" }, percent(answer.confidence[t])) : null,
    );
    button.addEventListener("click", () => choose(t + 1));
    return make("li", {}, button);
  });
  const list = make("ol", { class: "tokens", dir: "auto", "aria-label": "Words and their labels; the arrow keys move along them" }, items);
  roving(list, "button");
  return list;
}

function tree(answer, output, choose, changed) {
  const { width, height, base, words, arcs } = output.picture;
  const best = output === answer;
  const tokens = arcs.map((arc) => {
    const t = arc.token - 1;
    const sure = best ? answer.confidence[t] : 0;
    const name = `${answer.tokens[t]}: ${described(answer, output, t)}${best ? `, ${percent(sure)} sure` : ""}`;
    const token = draw(
      "g",
      { role: "button", tabindex: "-1", "data-token": arc.token, "aria-pressed": "false", "aria-label": name, class: changed(t) ? "other" : null },
      draw("title", {}, name),
      ...arcShapes(arc, base),
      ...wordShapes(words[t], base, height),
    );
    token.style.setProperty("--sure", sure);
    token.addEventListener("click", () => choose(arc.token));
    token.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(arc.token);
    });
    return token;
  });
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, tokens);
  roving(picture, "g[role=button]");
  const around = make(
    "div",
    { class: "tree", role: "group", "aria-label": "The tree: each word with its relation and head; the arrow keys move along them" },
    picture,
  );
  return around;
}

function arcShapes(arc, base) {
  const { left, right, top } = arc;
  const r = Math.min(8, Math.floor((right - left) / 2));
  const line = arc.root
    ? `M${left} ${top + 5}V${base}`
    : `M${left} ${base}V${top + r}Q${left} ${top} ${left + r} ${top}H${right - r}Q${right} ${top} ${right} ${top + r}V${base}`;
  const x = Math.floor((left + right) / 2);
  const y = arc.root ? top : top + 4;
  const room = Math.round([...arc.label].length * 12 * 0.65) + 5;
  const place = { x: x - room / 2, y: y - 12, width: room, height: 16, rx: 3 };
  return [
    draw("path", { class: "reach", d: line }),
    draw("path", { class: "arc", d: line }),
    draw("path", { class: "tip", d: `M${arc.arrow - 4} ${base - 7}L${arc.arrow + 4} ${base - 7}L${arc.arrow} ${base}Z` }),
    draw("rect", { class: "under", ...place }),
    draw("rect", { class: "shade", ...place }),
    draw("text", { class: "label", x, y }, arc.label),
  ];
}

function wordShapes(word, base, height) {
  const half = Math.round(Math.max([...word.text].length * 16, [...word.tag].length * 12) * 0.325) + 4;
  return [
    draw("rect", { class: "place", x: word.x - half, y: base + 1, width: 2 * half, height: height - base - 8, rx: 4 }),
    draw("text", { class: "word", x: word.x, y: base + 16 }, word.text),
    draw("text", { class: "tag", x: word.x, y: base + 34 }, word.tag),
  ];
}
