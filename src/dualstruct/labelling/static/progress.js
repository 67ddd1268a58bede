// How well it goes: the learning curve with its band, scores by label, what more would bring.

import { draw, make } from "../shared/elements.js";
import { hueOf } from "../shared/colours.js";

const WIDTH = 320;
const HEIGHT = 150;
const LEFT = 30;
const BOTTOM = 20;

function score(value) {
  return (100 * value).toFixed(1);
}

export function curve(points, what) {
  if (!points.length) {
    return [make("p", { class: "soft" }, "The curve starts when randomly drawn sentences are labelled.")];
  }
  const last = points[points.length - 1];
  const summary = make(
    "p",
    {},
    make("span", { class: "big" }, score(last.score)),
    ` ${what} `,
    make("span", { class: "soft" }, `(${score(last.low)} to ${score(last.high)}), measured on ${last.measured} sentences that it never saw`),
  );
  const most = Math.max(...points.map((each) => each.sentences), 1);
  const floor = Math.floor(Math.min(...points.map((each) => each.low)) * 10) / 10;
  const x = (n) => LEFT + ((WIDTH - LEFT - 8) * n) / most;
  const y = (value) => 8 + (HEIGHT - 8 - BOTTOM) * (1 - (value - floor) / Math.max(1 - floor, 0.1));
  const at = (each, key) => `${x(each.sentences).toFixed(1)},${y(each[key]).toFixed(1)}`;
  const band = [...points.map((each) => at(each, "high")), ...[...points].reverse().map((each) => at(each, "low"))];
  const middle = (floor + 1) / 2;
  const picture = draw(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${what} after ${last.sentences} sentences: ${score(last.score)}` },
    ...[floor, middle, 1].flatMap((value) => [
      draw("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value) }),
      draw("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, String(Math.round(100 * value))),
    ]),
    draw("text", { x: x(most), y: HEIGHT - 5, "text-anchor": "end" }, `${most} sentences`),
    draw("polygon", { class: "band", points: band.join(" ") }),
    draw("polyline", { class: "line", points: points.map((each) => at(each, "score")).join(" ") }),
    draw("circle", { class: "point", cx: x(last.sentences), cy: y(last.score), r: 3.5 }),
  );
  return [summary, picture];
}

export function byLabel(points, types) {
  const last = points[points.length - 1];
  const rows = Object.entries(last?.by_label ?? {}).sort(([, a], [, b]) => b[1] - a[1]);
  if (!rows.length) return [];
  const body = rows.slice(0, 20).map(([name, [f1, support]]) => {
    const bar = make("span", {});
    bar.style.width = `${Math.max(100 * f1, 1)}%`;
    const meter = make("td", { class: "meter", "aria-hidden": "true" }, bar);
    meter.style.setProperty("--hue", hueOf(types, name));
    return make("tr", {}, make("th", { scope: "row" }, name), meter, make("td", { class: "number" }, score(f1)), make("td", { class: "number soft" }, String(support)));
  });
  return [
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, "F1 by label"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Label"), make("td", {}), make("th", { scope: "col", class: "number" }, "F1"), make("th", { scope: "col", class: "number" }, "of"))),
      make("tbody", {}, body),
    ),
  ];
}

export function forecast(more, what) {
  return more === null ? "" : `About ${more.toLocaleString("en")} more sentences for +1 ${what}.`;
}

export function agreed(found) {
  if (!found) return "";
  return `Agreement of annotators: κ ${found.kappa.toFixed(2)}, F1 ${score(found.f1)} (sentences that two answered: ${found.sentences}).`;
}
