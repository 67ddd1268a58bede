// What happens on the page: the form, the tabs, and what is shown where.

import { get, post } from "./api.js";
import { byId, make, roving, sentence } from "./elements.js";
import { reasons } from "./explanation.js";
import { described, differences, focusToken, mark, setLabels, show } from "./results.js";
import { MOST_LINES, asFile, download, overview } from "./several.js";
import { curves } from "./training.js";
import { suspects } from "./suspects.js";

let model = null;
let modelBeside = null; // the other one, where there is one
let asked = null; // the sentence as it was sent
let answer = null;
let answers = []; // of all sentences
let others = []; // those of the model beside, where there is one
let explaining = null; // where the token stands that is explained
let explainedToken = null;
let turn = 0; // answers to older questions are dropped

const EXAMPLE = "Ada Lovelace wrote to Charles Babbage in London .\nThe machine weaves patterns .";
const ASPECTS = { tree: "head and relation", labels: "label" };

async function start() {
  try {
    model = await get("api/model");
    if (model.beside !== null) modelBeside = await get("beside/api/model");
  } catch (error) {
    complain(error);
    return;
  }
  document.title = `${model.name} – dualstruct`;
  const what = model.kind === "tree" ? "relations" : "labels";
  byId("model").textContent = `${model.name}, ${model.labels.length} ${what}`;
  if (model.beside !== null) {
    byId("model").textContent += `, beside ${model.beside}`;
    byId("own-name").textContent = model.name;
    byId("beside-name").textContent = model.beside;
    for (const id of ["own-name", "beside-name", "beside", "difference"]) byId(id).hidden = false;
  }
  const field = byId("sentence");
  const words = model.columns.length === 1;
  if (model.kind === "labels") setLabels([...model.labels, ...(modelBeside?.labels ?? [])]); // a colour means the same for both
  byId("example").hidden = !words;
  byId("trust").hidden = model.calibrated;
  byId("go").textContent = model.kind === "tree" ? "Parse" : "Label";
  byId("ask-label").textContent = words ? "A sentence" : "A sentence, one token per line";
  byId("hint").textContent = words
    ? "One sentence per line (Shift and Enter). Separate words by spaces, and also full stops and commas if your training file does."
    : `Each line has ${model.columns.join(", ") || "the attributes of a token"}, separated by spaces.`;
  if (!words) {
    field.rows = 6;
    field.classList.add("columns");
  }
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey || !(words || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    byId("ask").requestSubmit();
  });
  field.focus();
}

// The sentences: a line each, or with an empty line between them where tokens have a line each.
function question() {
  const text = byId("sentence").value;
  const lines = (part) => part.split("\n").map((line) => line.trim()).filter(Boolean);
  const split = (line) => line.split(/\s+/u);
  const found = model.columns.length === 1 ? lines(text).map(split) : text.split(/\n\s*\n/u).map((part) => lines(part).map(split)).filter((part) => part.length);
  if (found.length > MOST_LINES) throw new Error(`there are ${found.length} sentences, but the page accepts at most ${MOST_LINES}; use dualstruct predict`);
  return found.length ? found.map((tokens) => ({ tokens })) : [{ tokens: [] }];
}

function complain(error) {
  byId("problem").textContent = error ? sentence(error.message) : "";
}

function say(text) {
  byId("status").textContent = text;
}

async function ask(event) {
  event.preventDefault();
  if (!model) return;
  const mine = ++turn;
  clear();
  say("Working …");
  const found = [];
  const foundBeside = [];
  let wanted;
  try {
    wanted = question();
    for (const each of wanted) {
      const both = [post("api/predict", { ...each, k: 5 })];
      if (model.beside !== null) both.push(post("beside/api/predict", { ...each, k: 1 }));
      const [own, other] = await Promise.all(both);
      found.push(own);
      if (other) foundBeside.push(other);
      if (mine !== turn) return;
    }
  } catch (error) {
    if (mine !== turn) return;
    say("");
    complain(wanted?.length > 1 ? new Error(`sentence ${found.length + 1}: ${error.message}`) : error);
    return;
  }
  answers = found;
  others = foundBeside;
  byId("list").hidden = false;
  byId("list-title").textContent = answers.length > 1 ? `${answers.length} sentences` : "As text";
  byId("lines").replaceChildren(overview(answers, others, (k) => open(wanted[k], answers[k], others[k])));
  open(wanted[0], answers[0], others[0]);
}

function clear() {
  complain(null);
  close();
  for (const id of ["list", "result", "others"]) byId(id).hidden = true;
}

function open(sentenceAsked, found, foundBeside) {
  asked = sentenceAsked;
  answer = found;
  close();
  byId("result").hidden = false;
  present(answer, 0, foundBeside);
  if (foundBeside) compare(foundBeside);
  listAlternatives(foundBeside);
  say(answer.tokens.map((word, t) => `${word}: ${described(answer, answer, t)}`).join(", "));
}

// What the other model says, and in how much it differs.
function compare(other) {
  const differ = differences(answer, other);
  const names = differ.map((t) => `${answer.tokens[t]} (${described(answer, answer, t)}, ${described(other, other, t)})`);
  byId("difference").textContent = differ.length ? `They differ in ${differ.length} of ${answer.tokens.length} words: ${names.join(", ")}.` : "Both predictions are the same.";
  show(byId("beside"), other, other, (token) => explain(token, modelBeside.explains[0], "beside"), answer);
}

function present(output, rank = 0, than = answer) {
  const best = rank === 0;
  byId("result-title").textContent = (model.kind === "tree" ? "Tree" : "Labels") + (best ? "" : `, number ${rank + 1}`);
  byId("legend").hidden = !best;
  show(byId("output"), answer, output, (token) => explain(token), than);
}

function listAlternatives(foundBeside) {
  const list = byId("alternatives");
  const best = answer.alternatives[0];
  byId("others").hidden = false;
  byId("others-title").textContent = `The ${answer.alternatives.length} best`;
  if (!answer.alternatives.length) {
    byId("others-title").textContent = "Alternatives";
    list.replaceChildren(make("p", { class: "soft" }, "A parser of second order finds the best tree only."));
    return;
  }
  const items = answer.alternatives.map((other, rank) => {
    const output = rank ? other : answer;
    const differences = answer.tokens
      .map((word, t) => [word, described(answer, other, t), described(answer, best, t)])
      .filter(([, here, there]) => here !== there)
      .map(([word, here]) => `${word}: ${here}`);
    const text = [standing(best, other), differences.join(", ")].filter(Boolean).join(": ");
    const button = make("button", { type: "button", "aria-pressed": String(rank === 0) }, text);
    button.addEventListener("click", () => {
      for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === button));
      close();
      present(output, rank, rank ? answer : foundBeside);
      say(rank ? `Number ${rank + 1} of the best is shown` : "The best is shown");
    });
    return make("li", {}, button);
  });
  list.replaceChildren(...items);
}

// How good an output is: its probability where there is one, else its score.
function standing(best, other) {
  if (model.calibrated && other.probability !== undefined) return `${(100 * other.probability).toFixed(1)} %`;
  return other === best ? `score ${best.score.toFixed(3)}` : `${(best.score - other.score).toFixed(3)} below`;
}

// `where` is the place of the output: "output", or "beside" for the other model.
async function explain(token, of = model.explains[0], where = "output") {
  const mine = ++turn;
  complain(null);
  for (const each of ["output", "beside"]) mark(byId(each), each === where ? token : null);
  let found;
  try {
    found = await post(where === "beside" ? "beside/api/explain" : "api/explain", { ...asked, token, of });
  } catch (error) {
    if (mine === turn) complain(error);
    return;
  }
  if (mine !== turn) return;
  const explained = found.tokens[0];
  const title = byId("explanation-title");
  const who = model.beside === null ? "" : `, by ${where === "beside" ? model.beside : model.name}`;
  title.textContent = `Why ${answer.tokens[token - 1]} is ${explained.text}${who}`;
  explainedToken = token;
  explaining = where;
  const { explains } = where === "beside" ? modelBeside : model;
  byId("aspects").replaceChildren(...(explains.length > 1 ? explains.map((name) => aspect(name, of, token, where)) : []));
  byId("reasons").replaceChildren(...reasons(explained));
  byId("explanation").hidden = false;
  title.focus();
  byId("explanation").scrollIntoView({ block: "nearest" });
}

function aspect(name, chosen, token, where) {
  const button = make("button", { type: "button", "aria-pressed": String(name === chosen) }, ASPECTS[name] ?? `${name.toUpperCase()} tag`);
  button.addEventListener("click", () => explain(token, name, where));
  return button;
}

function close() {
  byId("explanation").hidden = true;
  for (const each of ["output", "beside"]) mark(byId(each), null);
}

function closeAndReturn() {
  close();
  focusToken(byId(explaining), explainedToken);
}

let shownTraining = false;

async function showTraining() {
  if (shownTraining) return;
  shownTraining = true;
  try {
    byId("curves").replaceChildren(...curves(await get("api/training")));
  } catch (error) {
    shownTraining = false;
    byId("curves").replaceChildren(make("p", { class: "problem" }, sentence(error.message)));
  }
  watchSuspects();
}

async function watchSuspects() {
  try {
    const found = await get("api/suspects");
    byId("suspects").replaceChildren(...suspects(found, model?.columns.length === 1 ? tryOut : null));
    if (found.state === "working") setTimeout(watchSuspects, 1000);
  } catch (error) {
    byId("suspects").replaceChildren(make("p", { class: "problem" }, sentence(error.message)));
  }
}

function tryOut(text) {
  choose(byId("tab-sentence"));
  byId("sentence").value = text;
  byId("ask").requestSubmit();
}

function choose(tab) {
  for (const each of document.querySelectorAll("[role=tab]")) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (tab.id === "tab-training") showTraining();
}

const tabs = document.querySelector("[role=tablist]");
roving(tabs, "[role=tab]");
tabs.addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (tab) choose(tab);
});
tabs.addEventListener("focusin", (event) => choose(event.target));
byId("ask").addEventListener("submit", ask);
byId("example").addEventListener("click", () => tryOut(EXAMPLE));
byId("download").addEventListener("click", () => download(model.kind === "tree" ? "parsed.conllu" : "labelled.conll", asFile(answers)));
byId("upload").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  if (file.size > 1 << 20) {
    clear();
    complain(new Error(`${file.name} has more than 1 MB: the command predict takes larger files`));
  } else tryOut(await file.text());
  event.target.value = "";
});
byId("close").addEventListener("click", closeAndReturn);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !byId("explanation").hidden) closeAndReturn();
});
start();
