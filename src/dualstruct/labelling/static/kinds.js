// Kinds of answers, as labelling/kinds.py has them: how they look, and how they change. `at` is where the annotator is:
// {labels, from, to, here}, the selected tokens and the one of the cursor.

import { spanAt, withoutSpans, withSpan } from "./labels.js";
import { render } from "./sentence.js";
import { drawArcs, flatTree, treeElements, withHead, withRelation } from "./trees.js";

const spans = {
  className: "",
  removes: "Remove label",
  blank: (words) => words.map(() => "O"),
  render,
  place: () => {},
  // The labels after one was chosen, and where the cursor goes.
  give({ labels, from, to }, type) {
    const span = to - from === 1 ? spanAt(labels, from) : null;
    const [begin, end] = span ? [span.start, span.end] : [from, to];
    return { labels: withSpan(labels, type, begin, end), touched: [begin, end] };
  },
  remove: ({ labels, from, to }) => withoutSpans(labels, from, to),
  // What a click on a label of the list is for: what is marked, or the next click.
  isMarked: ({ labels, from, to, here }) => to - from > 1 || spanAt(labels, here) !== null,
  // A click on a token, or several that were dragged over: whether they get the label.
  gives: ({ labels, from, to, here }) => to - from > 1 || spanAt(labels, here) === null,
};

const labels = {
  className: "each",
  removes: null,
  blank: (words, types) => words.map(() => types[0] ?? "O"),
  render,
  place: () => {},
  give({ labels: old, from, to }, type) {
    const made = old.map((label, t) => (from <= t && t < to ? type : label));
    return { labels: made, touched: [from, to], next: Math.min(to, made.length - 1) };
  },
  remove: null,
  isMarked: () => true,
  gives: ({ from, to }) => to - from > 1,
};

const trees = {
  className: "tree",
  removes: "Make root",
  hasHeads: true,
  blank: (words, types) => flatTree(words.length, types.find((type) => type !== "root") ?? "dep"),
  render: treeElements,
  place: drawArcs,
  give: ({ labels: old, here }, type) => ({ labels: withRelation(old, here, type), touched: [here, here + 1] }),
  remove: ({ labels: old, here }, type) => withHead(old, here, 0, type),
  // Dragged from a head to a dependent.
  connect: (old, head, dependent, type) => withHead(old, dependent, head + 1, type),
  isMarked: () => true,
  gives: () => false,
};

export const KINDS = { spans, labels, trees };
