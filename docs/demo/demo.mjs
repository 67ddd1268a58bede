// Labels what is typed. The taggers beside this file are exported when the site is built (docs/demo_models.py).

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

function show(names, tags) {
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
}

try {
  const modules = await Promise.all(["names", "tags"].map((name) => import(`./${name}/index.mjs`)));
  const [names, tags] = await Promise.all(modules.map((module) => module.load()));
  text.addEventListener("input", () => show(names, tags));
  show(names, tags);
  state.textContent = "";
} catch (error) {
  const why = location.protocol === "file:" ? "browsers load modules from servers, not from folders" : error.message;
  state.textContent = `The taggers could not be loaded: ${why}.`;
}
