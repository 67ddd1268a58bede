// Labels and parses what is typed. The models beside this file are exported when the site is built (docs/demo_models.py).

const state = document.getElementById("demo-state");
const text = document.getElementById("demo-text");
const COLOURS = { PER: "#c2185b", LOC: "#2e7d32", ORG: "#00838f", DATE: "#b26a00", QTY: "#1565c0" };

function marked(word, label, colour, title) {
  const mark = document.createElement("span");
  mark.dataset.label = label;
  mark.title = title;
  mark.style.cssText = `border-bottom: 3px solid ${colour}; margin-right: 0.1em`;
  const small = document.createElement("sub");
  small.textContent = label;
  mark.append(word, small);
  return mark;
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(parent, name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

// A sentence with an arc from each head to its word; an arc is as high as it must be to span those below it.
function treeOf(words, arcs) {
  const centers = [], heights = new Array(words.length).fill(0);
  let width = 10;
  for (const { form, upos } of words) {
    const room = 9 * Math.max(form.length, upos.length, 6) + 14;
    centers.push(width + room / 2);
    width += room;
  }
  const spans = arcs.map(({ head }, i) => ({ i, head: head - 1, low: Math.min(i, head - 1), high: Math.max(i, head - 1) }));
  for (const span of spans.filter(({ head }) => head >= 0).sort((a, b) => a.high - a.low - (b.high - b.low))) {
    const below = spans.filter(({ i, head, low, high }) => i !== span.i && head >= 0 && low >= span.low && high <= span.high);
    heights[span.i] = 1 + Math.max(0, ...below.map(({ i }) => heights[i]));
  }
  const top = 22 * Math.max(1, ...heights) + 24;
  const picture = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ width, height: top + 44, role: "img" })) picture.setAttribute(key, value);
  const said = words.map(({ form }, i) => `${form}: ${arcs[i].relation} of ${arcs[i].head ? words[arcs[i].head - 1].form : "the root"}`);
  picture.setAttribute("aria-label", said.join("; "));
  const line = { fill: "none", stroke: "currentColor", "stroke-opacity": 0.55 };
  const small = { "font-size": 11, "text-anchor": "middle", fill: "currentColor" };
  words.forEach(({ form, upos }, i) => {
    drawn(picture, "text", { ...small, "font-size": 15, x: centers[i], y: top + 20 }, form);
    drawn(picture, "text", { ...small, "fill-opacity": 0.65, x: centers[i], y: top + 36 }, upos);
    const { head, relation } = arcs[i], to = centers[i], y = top - 22 * heights[i];
    const label = { ...small, "data-relation": relation, "data-head": head };
    if (!head) {
      drawn(picture, "path", { ...line, d: `M ${to} 16 V ${top}` });
      drawn(picture, "text", { ...label, x: to, y: 12 }, relation);
    } else {
      const from = centers[head - 1] + (head - 1 < i ? 6 : -6), bend = from < to ? 8 : -8;
      drawn(picture, "path", { ...line, d: `M ${from} ${top} V ${y + 8} Q ${from} ${y} ${from + bend} ${y} H ${to - bend} Q ${to} ${y} ${to} ${y + 8} V ${top}` });
      drawn(picture, "text", { ...label, x: (from + to) / 2, y: y - 3 }, relation);
    }
    drawn(picture, "path", { fill: "currentColor", d: `M ${to - 3} ${top - 5} h 6 l -3 6 z` });
  });
  return picture;
}

function show(names, tags, trees) {
  const spans = document.getElementById("demo-spans"), words = document.getElementById("demo-tags");
  spans.replaceChildren();
  words.replaceChildren();
  let last = 0;
  for (const { start, end, label, probability } of names.find(text.value)) {
    spans.append(text.value.slice(last, start));
    const title = `${label}: ${(100 * probability).toFixed(1)} %`;
    spans.append(marked(text.value.slice(start, end), label, COLOURS[label] ?? "gray", title));
    last = end;
  }
  spans.append(text.value.slice(last));
  for (const token of tags.find(text.value)) {
    words.append(marked(token.text, token.label, "transparent", token.label), " ");
  }
  if (trees === null) return;
  const sentences = tags.split(text.value).map((sentence) => {
    const forms = sentence.map(({ word }) => word);
    return tags.tag(forms).map((upos, i) => ({ form: forms[i], upos }));
  });
  const parsed = trees.parseAll(sentences);
  document.getElementById("demo-trees").replaceChildren(...sentences.map((each, i) => treeOf(each, parsed[i])));
}

async function loaded(name) {
  return (await import(`./${name}/index.mjs`)).load();
}

try {
  const [names, tags] = await Promise.all(["names", "tags"].map(loaded));
  const trees = await loaded("trees").catch(() => null);
  text.addEventListener("input", () => show(names, tags, trees));
  show(names, tags, trees);
  state.textContent = trees === null ? "The parser could not be loaded; it needs WebAssembly." : "";
} catch (error) {
  const why = location.protocol === "file:" ? "browsers load modules from servers, not from folders" : error.message;
  state.textContent = `The models could not be loaded: ${why}.`;
}
