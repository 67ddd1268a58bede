// Shows why a token has what it has: what beat the next best, and by how much.

import { make, signed } from "./elements.js";

const MOST = 12;

export function reasons(explained) {
  if (!explained.alternatives.length) return [make("p", {}, "No other label is possible here.")];
  return explained.alternatives.map((rival) => comparison(explained, rival));
}

// What speaks for the answer and what for its rival, apart. Of all contributions the largest are
// shown, and of each side so many that the others do not add up to more.
function sides(explained, rival) {
  const largest = new Set(rival.contributions.slice(0, MOST));
  return [[1, explained.text], [-1, rival.text]].map(([sign, output]) => {
    const mine = rival.contributions.filter((each) => sign * each.amount > 0);
    let count = mine.filter((each) => largest.has(each)).length;
    while (2 * Math.abs(sum(mine.slice(0, count))) < Math.abs(sum(mine))) count += 1;
    return { output, mine, shown: mine.slice(0, count), rest: mine.slice(count) };
  }).filter((side) => side.mine.length);
}

function sum(contributions) {
  return contributions.reduce((total, each) => total + each.amount, 0);
}

function comparison(explained, rival) {
  const both = sides(explained, rival);
  const largest = Math.max(...both.flatMap((side) => side.shown.map((each) => Math.abs(each.amount))), 1e-12);
  const rows = both.flatMap((side) => [
    make("tr", {}, make("th", { class: "number" }, signed(sum(side.mine))), make("th", { colspan: 3, scope: "colgroup" }, `for ${side.output}`)),
    ...side.shown.map((each) => row(explained, each, largest)),
    ...(side.rest.length ? [hidden(side.rest)] : []),
  ]);
  const elsewhere = rival.changes
    .filter((change) => change.token !== explained.token)
    .map((change) => `${change.form}: ${change.other} instead of ${change.chosen}`);
  return make(
    "div",
    {},
    make("h3", {}, `${explained.text} beats ${rival.text} by ${rival.difference.toFixed(4)}`),
    elsewhere.length ? make("p", { class: "soft" }, `The alternative also has ${elsewhere.join("; ")}.`) : null,
    make(
      "div",
      { class: "wide" },
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, head("adds", "number"), make("td"), head("feature"), make("td"))),
        make("tbody", {}, rows),
      ),
    ),
  );
}

function hidden(rest) {
  const text = rest.length === 1 ? "another one" : `${rest.length} others together`;
  return make("tr", {}, make("td", { class: "number" }, signed(sum(rest))), make("td"), make("td", { class: "soft", colspan: 2 }, text));
}

function head(text, kind) {
  return make("th", { scope: "col", class: kind }, text);
}

// What a contribution belongs to, unless that goes without saying.
function about(explained, each) {
  const elsewhere = each.token !== explained.token;
  if (each.kind === "feature") return elsewhere ? `at ${each.token}: ${each.chosen_part}, not ${each.other_part}` : "";
  const side = each.chosen_part ? "" : " of the rival";
  return each.kind + side + (elsewhere && each.kind !== "transition" ? ` at ${each.token}` : "");
}

function row(explained, each, largest) {
  const bar = make("span", { class: each.amount > 0 ? "for" : "against" });
  bar.style.width = `${(100 * Math.abs(each.amount)) / largest}%`;
  return make(
    "tr",
    {},
    make("td", { class: "number" }, signed(each.amount)),
    make("td", { class: "bar", "aria-hidden": "true" }, bar),
    make("td", { class: "name" }, each.name),
    make("td", { class: "soft" }, about(explained, each)),
  );
}
