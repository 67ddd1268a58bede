// The tab about training: a curve for each part of the model, and the suspects.

import { draw, make, percent } from "./elements.js";

export function curves(training) {
  return training.parts.map((part) => {
    const charts = [gapChart(part), devChart(part)].filter(Boolean);
    const none = part.trace.length
      ? "This solver has no dual, so there is no gap to show."
      : "The model file has no training curve: it was converted or trained by another program.";
    return make(
      "section",
      {},
      make("h2", {}, `Training of the ${part.name}`),
      part.trace.length ? make("p", {}, `${part.summary}; ${part.seconds.toFixed(2)} s.`) : null,
      charts.length ? make("div", { class: "charts" }, charts) : make("p", { class: "soft" }, none),
      part.trace.length ? numbers(part.trace) : null,
    );
  });
}

// The optimum is nowhere above the final primal, so this bounds what a pass's dual had left to gain.
function gapChart(part) {
  const points = part.trace
    .filter((point) => point.dual !== null && part.primal)
    .map((point) => ({ x: point.passes, y: (part.primal - point.dual) / Math.abs(part.primal) }))
    .filter((point) => point.y > 0);
  return points.length ? chart("Distance of the dual from the final objective", points, true, gapText) : null;
}

function devChart(part) {
  const points = part.trace.filter((point) => point.dev_score !== null).map((point) => ({ x: point.passes, y: point.dev_score }));
  return points.length ? chart("Score on the development data", points, false, (y) => (100 * y).toFixed(1)) : null;
}

function gapText(share) {
  return share >= 0.1 ? percent(share) : `${Number((100 * share).toPrecision(2))} %`;
}

// One line over the passes, with a few lines of a grid; powers of ten where `log` is true.
function chart(title, points, log, format) {
  const width = 420, height = 220, left = 52, right = 12, top = 10, bottom = 34;
  const scale = log ? Math.log10 : (y) => y;
  const values = points.map((point) => scale(point.y));
  let low = Math.min(...values), high = Math.max(...values);
  if (log) [low, high] = [Math.floor(low), Math.ceil(high)];
  if (high - low < 1e-9) [low, high] = [low - (log ? 1 : 0.01), high + (log ? 0 : 0.01)];
  const last = Math.max(...points.map((point) => point.x), 2);
  const x = (pass) => left + ((pass - 1) / (last - 1)) * (width - left - right);
  const y = (value) => top + ((high - scale(value)) / (high - low)) * (height - top - bottom);
  const ticks = log
    ? Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k))
    : [0, 1, 2, 3].map((k) => low + (k / 3) * (high - low));
  const grid = ticks.flatMap((value) => [
    draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)),
  ]);
  const passes = [...new Set([1, Math.round((1 + last) / 2), last])].map((pass) =>
    draw("text", { x: x(pass), y: height - 16, "text-anchor": "middle" }, String(pass)),
  );
  const line = points.map((point, k) => `${k ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
  const end = points[points.length - 1];
  const said = `${title}: ${format(points[0].y)} after pass ${points[0].x}, ${format(end.y)} after pass ${end.x}`;
  return make(
    "figure",
    {},
    make("figcaption", {}, title),
    draw(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said },
      grid,
      passes,
      draw("text", { x: (left + width - right) / 2, y: height - 2, "text-anchor": "middle" }, "pass"),
      draw("path", { class: "curve", d: line }),
      points.map((point) => draw("circle", { class: "point", cx: x(point.x), cy: y(point.y), r: points.length > 40 ? 1.5 : 3 })),
    ),
  );
}

function numbers(trace) {
  const columns = {
    pass: (p) => String(p.passes),
    seconds: (p) => p.seconds.toFixed(2),
    dual: (p) => (p.dual === null ? "" : p.dual.toPrecision(6)),
    gap: (p) => (p.gap === null ? "" : gapText(Math.max(p.gap, 0))),
    "dev score": (p) => (p.dev_score === null ? "" : (100 * p.dev_score).toFixed(2)),
    cuts: (p) => String(p.cuts),
  };
  const heads = Object.keys(columns).map((name) => make("th", { scope: "col", class: "number" }, name));
  const rows = trace.map((point) => make("tr", {}, Object.values(columns).map((cell) => make("td", { class: "number" }, cell(point)))));
  return make(
    "details",
    {},
    make("summary", {}, "The numbers"),
    make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows))),
    make("p", { class: "soft" }, "The gap is certified where the training loop asked for it, and at the end."),
  );
}
