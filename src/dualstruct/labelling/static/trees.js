// Trees: the arcs of a sentence as labels of its tokens ("3:nsubj"), how they change, and how they are drawn.

import { draw, make, percent } from "../shared/elements.js";
import { hueOf } from "../shared/colours.js";

const STEP = 22; // between two heights of arcs
const ROOM = 18; // above the highest

export function arcOf(label) {
  const colon = label.indexOf(":");
  return { head: Number(label.slice(0, colon)), relation: label.slice(colon + 1) };
}

export function labelOf({ head, relation }) {
  return `${head}:${relation}`;
}

// A tree to begin with: all words hang from the first.
export function flatTree(length, relation) {
  return Array.from({ length }, (_, t) => (t === 0 ? "0:root" : `1:${relation}`));
}

// The labels with another head (0: none) of token t, and still a tree: where the new head hung from t it takes the
// place of t, and there is one root.
export function withHead(labels, t, head, relation) {
  const arcs = labels.map(arcOf);
  const before = arcs[t];
  if (head === t + 1 || before.head === head) return labels;
  const given = before.head === 0 || before.relation === "root" ? relation : before.relation;
  if (head === 0) {
    arcs.forEach((arc, k) => {
      if (arc.head === 0) arcs[k] = { head: t + 1, relation };
    });
    arcs[t] = { head: 0, relation: "root" };
    return arcs.map(labelOf);
  }
  const path = [];
  for (let k = head; k !== 0 && !path.includes(k); k = arcs[k - 1].head) path.push(k);
  if (path.includes(t + 1)) arcs[head - 1] = { ...before };
  arcs[t] = { head, relation: given };
  return arcs.map(labelOf);
}

export function withRelation(labels, t, relation) {
  return labels.map((label, k) => (k === t ? labelOf({ ...arcOf(label), relation }) : label));
}

// How high each arc is: above all that lie under it.
export function heights(arcs) {
  const order = arcs
    .map((arc, t) => ({ t, left: Math.min(arc.head, t + 1), right: Math.max(arc.head, t + 1), root: arc.head === 0 }))
    .filter((arc) => !arc.root)
    .sort((a, b) => a.right - a.left - (b.right - b.left));
  const found = arcs.map(() => 0);
  order.forEach((arc, k) => {
    const under = order.slice(0, k).filter((other) => other.left < arc.right && other.right > arc.left);
    found[arc.t] = 1 + Math.max(0, ...under.map((other) => found[other.t]));
  });
  return found;
}

// The words side by side with room for arcs above; `drawArcs` draws them once the words have places.
export function treeElements(view) {
  const { words, labels, sure } = view;
  const arcs = labels.map(arcOf);
  const row = words.map((word, t) => {
    const { head, relation } = arcs[t];
    const doubt = sure ? 1 - sure[t] : 0;
    const what = head === 0 ? "the root" : `${relation} of ${words[head - 1]}`;
    const name = [word, what, sure ? `${percent(sure[t])} sure` : null].filter(Boolean).join(", ");
    const element = make("button", { type: "button", class: "token", "data-t": t, tabindex: "-1", "aria-label": name }, word);
    if (doubt > 0.05) {
      element.classList.add("unsure");
      element.style.setProperty("--doubts", Math.min(0.35 + doubt, 1).toFixed(2));
    }
    return element;
  });
  const around = make("div", { class: "arcs" }, draw("svg", { "aria-hidden": "true" }), make("div", { class: "row", dir: "auto" }, row));
  around.arcs = arcs;
  around.types = view.types;
  return [around];
}

export function drawArcs(place) {
  const around = place.querySelector(".arcs");
  if (!around) return;
  const { arcs, types } = around;
  const picture = around.querySelector("svg");
  const high = heights(arcs);
  const base = ROOM + STEP * Math.max(1, ...high);
  around.style.paddingTop = `${base + 4}px`;
  const left = around.getBoundingClientRect().left;
  const middles = [...around.querySelectorAll(".token")].map((token) => {
    const box = token.getBoundingClientRect();
    return box.left - left + box.width / 2;
  });
  const width = Math.max(around.scrollWidth, 1);
  picture.setAttribute("viewBox", `0 0 ${width} ${base + 4}`);
  picture.setAttribute("width", width);
  picture.setAttribute("height", base + 4);
  picture.replaceChildren(
    ...arcs.map((arc, t) => {
      const x = middles[t];
      const group = draw("g", { "data-arc": t });
      group.style.setProperty("--hue", hueOf(types, arc.relation));
      const tip = draw("path", { class: "tip", d: `M${x - 4} ${base - 6}L${x + 4} ${base - 6}L${x} ${base}Z` });
      if (arc.head === 0) {
        group.append(draw("path", { class: "arc", d: `M${x} ${base - STEP}V${base - 4}` }), tip, draw("text", { x, y: base - STEP - 4 }, arc.relation));
        return group;
      }
      const from = middles[arc.head - 1] + (x > middles[arc.head - 1] ? 6 : -6);
      const top = base - STEP * high[t];
      const bend = x > from ? 6 : -6;
      const line = `M${from} ${base - 2}V${top + 6}Q${from} ${top} ${from + bend} ${top}H${x - bend}Q${x} ${top} ${x} ${top + 6}V${base - 4}`;
      group.append(draw("path", { class: "arc", d: line }), tip, draw("text", { x: (from + x) / 2, y: top - 4 }, arc.relation));
      return group;
    }),
  );
}
