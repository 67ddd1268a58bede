// The questions on the page, their labels, and the answers that go to the server.

import { get, post } from "../shared/api.js";
import { byId, make, sentence as asSentence } from "../shared/elements.js";
import { hueOf } from "../shared/colours.js";
import { KINDS } from "./kinds.js";
import { agreed, byLabel, curve, forecast } from "./progress.js";

export const KEYS = [..."1234567890qwetyiopadfghjklzxcvbm"]; // not n, r, s, u: these do something else
const AHEAD = 3; // questions on the page
const REASONS = {
  any: "the next one",
  unsure: "the model is least sure of this one",
  "other words": "the model is not sure of other words of it now",
  random: "drawn at random, to measure by",
  "second look": "the model disagrees with its label: a second look",
  conflict: "answers differ: take one of them, or give another",
  chosen: "chosen by you",
};
const WHOLE = new Set(["second look", "conflict", "chosen"]); // asked about as a whole, always

export let project = null;
let questions = []; // the first is on the card
export let labels = [];
let shown = []; // as they were before the annotator changed something
let touched = false; // whether the annotator has changed something
export let here = 0; // the token of the cursor
export let anchor = 0; // where the selection began
export let active = 0; // the label that a click gives
export let picking = null; // the token whose head is being chosen
let model = -1;
const answered = []; // own answers, for undo and the list
let busy = Promise.resolve(); // answers are sent one after the other
const onTheirWay = new Set(); // sentences whose answers are not saved yet
let undoing = false;

export const annotator = () => byId("annotator").value.trim() || "me";
export const current = () => questions[0] ?? null;
export const kind = () => KINDS[project.kind];
export const position = () => ({ labels, from: range()[0], to: range()[1], here });

export function complain(error) {
  byId("problem").textContent = error ? asSentence(error.message) : "";
}

export function say(text) {
  byId("status").textContent = text;
}

export async function start() {
  byId("annotator").value = localStorage.getItem("annotator") ?? "me";
  try {
    project = await get("api/project");
  } catch (error) {
    complain(error);
    return;
  }
  byId("name").textContent = project.name;
  byId("remove").hidden = kind().removes === null;
  byId("remove").firstChild.textContent = `${kind().removes ?? ""} `;
  for (const each of document.querySelectorAll("[data-for]")) each.hidden = each.dataset.for !== project.kind;
  document.title = `${project.name} – dualstruct label`;
  showTypes();
  await fetchMore();
  watch();
}

// Labels.

function showTypes() {
  const buttons = project.types.map((type, k) => {
    const key = KEYS[k];
    const button = make(
      "button",
      { type: "button", class: "type", "data-type": k, "aria-pressed": String(k === active), "aria-keyshortcuts": key },
      type,
      key ? make("kbd", {}, key) : null,
    );
    button.style.setProperty("--hue", hueOf(project.types, type));
    return button;
  });
  const more = make("button", { type: "button", id: "add-type", "aria-label": "New label", "aria-keyshortcuts": "N" }, "+ ", make("kbd", {}, "N"));
  byId("types").replaceChildren(...buttons, more);
  const chosen = byId("with-label").value;
  byId("with-label").replaceChildren(make("option", { value: "" }, "any label"), ...project.types.map((type) => make("option", { value: type }, type)));
  byId("with-label").value = chosen;
}

export function choose(k) {
  if (k >= project.types.length) return;
  active = k;
  for (const each of document.querySelectorAll(".type")) each.setAttribute("aria-pressed", String(Number(each.dataset.type) === k));
}

export async function addType(name) {
  try {
    project = { ...project, ...(await post("api/types", { name })) };
  } catch (error) {
    complain(error);
    return;
  }
  active = project.types.indexOf(name);
  showTypes();
  redraw();
}

// Questions.

async function fetchMore() {
  if (questions.length >= AHEAD) return;
  const asked = questions.map((each) => each.sentence);
  let found;
  try {
    found = await post("api/next", { annotator: annotator(), count: AHEAD - questions.length, without: [...asked, ...onTheirWay, ...skipped].slice(0, 90) });
  } catch (error) {
    complain(error);
    return;
  }
  const begun = questions.length > 0;
  for (const each of found.questions) {
    const known = onTheirWay.has(each.sentence) || questions.some((other) => other.sentence === each.sentence);
    if (!known) questions.push(each);
  }
  if (!begun) present();
  else preview();
}

function labelsFor(question) {
  const given = question.labels ?? question.suggestion?.labels;
  if (given) return [...given];
  return kind().blank(question.words, project.types);
}

function present() {
  const question = current();
  touched = false;
  here = anchor = question?.asked?.[0] ?? 0;
  picking = null;
  const empty = !question;
  for (const id of ["accept", "remove", "skip", "head"]) byId(id).disabled = empty;
  if (empty) {
    byId("reason").textContent = "";
    byId("rivals").hidden = true;
    byId("sentence").replaceChildren(make("p", { class: "done" }, project.sentences ? "All sentences are labelled. Use the search to find them." : "There are no texts yet: start with --text FILE."));
    preview();
    return;
  }
  shown = labels = labelsFor(question);
  explain(question);
  showRivals(question);
  redraw();
  preview();
  say(question.words.join(" "));
}

function explain(question) {
  const reason = asSentence(REASONS[question.reason] ?? question.reason);
  byId("reason").textContent = question.asked ? `${reason} Only the words in full ink are asked about.` : reason;
}

function view(question, shown, sure) {
  return { ...question, labels: shown, sure, kind: project.kind, types: project.types };
}

function redraw() {
  const question = current();
  if (!question) return;
  const sure = question.labels || touched ? null : question.suggestion?.sure;
  const place = byId("sentence");
  const had = place.contains(document.activeElement);
  place.className = kind().className;
  place.replaceChildren(...kind().render(view(question, labels, sure), true));
  kind().place(place);
  select(had || document.activeElement === document.body);
}

function showRivals(question) {
  const place = byId("rivals");
  place.hidden = question.reason !== "conflict";
  if (place.hidden) return;
  place.replaceChildren(
    ...question.answers.map((answer) => {
      const take = make("button", { type: "button" }, `Take ${answer.annotator}'s`);
      take.addEventListener("click", () => {
        labels = [...answer.labels];
        touched = true;
        redraw();
        byId("accept").focus();
      });
      const shown = kind().render(view(question, answer.labels, null), false);
      const text = make("div", { class: `text ${kind().className}`, dir: "auto", inert: true }, shown);
      return make("div", { class: "rival" }, make("h3", {}, answer.annotator), text, take);
    }),
  );
  for (const each of place.querySelectorAll(".text")) kind().place(each);
}

function preview() {
  byId("upcoming").replaceChildren(...questions.slice(1).map((each) => make("li", { dir: "auto" }, each.words.map((word, t) => each.gaps[t] + word).join(""))));
}

// The cursor and the selection.

const range = () => [Math.min(here, anchor), Math.max(here, anchor) + 1];

export function tokenAt(t) {
  return byId("sentence").querySelector(`[data-t="${t}"]`);
}

function select(focus = true) {
  const [from, to] = range();
  for (const each of byId("sentence").querySelectorAll(".token")) {
    const t = Number(each.dataset.t);
    each.classList.toggle("selected", to - from > 1 && from <= t && t < to);
    each.classList.toggle("here", t === here);
    each.classList.toggle("picking", t === picking);
    each.tabIndex = t === here ? 0 : -1;
  }
  if (focus) tokenAt(here)?.focus({ preventScroll: false });
}

export function move(to, extend) {
  const last = (current()?.words.length ?? 1) - 1;
  here = Math.min(Math.max(to, 0), last);
  if (!extend) anchor = here;
  select();
}

// The selection reaches to this token, while the mouse is down.
export function reach(to) {
  here = to;
  select(false);
}

export function step(by, extend) {
  const right = getComputedStyle(byId("sentence")).direction === "rtl" || isRightToLeft() ? -by : by;
  move(here + right, extend);
}

// dir=auto does not show in the computed style everywhere.
function isRightToLeft() {
  const first = /\p{L}/u.exec(current()?.words.join(" ") ?? "");
  return first !== null && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u.test(first[0]);
}

// What changes the labels.

function changed() {
  touched = true;
  complain(null);
  redraw();
}

export function give(k) {
  const type = project.types[k];
  if (!current() || type === undefined) return;
  choose(k);
  const made = kind().give(position(), type);
  labels = made.labels;
  say(`${current().words.slice(...made.touched).join(" ")}: ${type}`);
  if (made.next !== undefined) here = anchor = made.next;
  changed();
}

export function remove() {
  if (!current() || !kind().remove) return;
  labels = kind().remove(position(), project.types[active] ?? "dep");
  say(`${kind().removes}: done`);
  changed();
}

// The head of a word, in two steps: this word, then its head.
export function pick() {
  if (!current() || !kind().hasHeads) return;
  if (picking === null) {
    picking = anchor = here;
    say(`choose the head of ${current().words[here]}`);
    select();
    return;
  }
  connect(here, picking);
}

export function connect(head, dependent) {
  picking = null;
  here = anchor = dependent;
  if (head !== dependent) {
    labels = kind().connect(labels, head, dependent, project.types[active] ?? "dep");
    say(`${current().words[dependent]} hangs from ${current().words[head]}`);
    changed();
  } else select();
}

export function reset() {
  if (!current()) return;
  const given = current().suggestion?.labels;
  if (given) labels = [...given];
  touched = false;
  redraw();
}

// Answers.

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (n) => n.toString(16).padStart(2, "0")).join("");
}

export function accept() {
  const question = current();
  if (!question) return;
  complain(null);
  const body = { sentence: question.sentence, labels: [...labels], version: question.version, annotator: annotator(), key: newKey(), asked: askedAbout(question) };
  questions.shift();
  onTheirWay.add(question.sentence);
  present();
  busy = busy.then(() => send(body, question)).finally(() => onTheirWay.delete(question.sentence));
  fetchMore();
}

// The tokens that were asked about, and those that the annotator changed without being asked; null: all.
function askedAbout(question) {
  if (!question.asked) return null;
  const changed = labels.flatMap((label, t) => (label === shown[t] ? [] : [t]));
  return [...new Set([...question.asked, ...changed])];
}

// Sent again with the same key until the server says that it is saved.
async function send(body, question) {
  for (let attempt = 0; ; attempt++) {
    try {
      const saved = await post("api/answer", body);
      answered.push({ ...saved, question, labels: body.labels });
      showRecent();
      say(saved.conflict ? "saved; another annotator says something else" : "saved");
      if (saved.conflict) await openSentence(question.sentence);
      return;
    } catch (error) {
      if (error.message !== "the server does not answer" || attempt > 60) {
        complain(new Error(`"${question.words.slice(0, 6).join(" ")} …" was not saved: ${error.message}`));
        return;
      }
      complain(new Error("the server does not answer; your answer is sent again"));
      await new Promise((done) => setTimeout(done, 1000));
      complain(null);
    }
  }
}

export async function undo() {
  if (undoing) return;
  undoing = true;
  try {
    await busy;
    const last = answered.pop();
    if (!last) return;
    const question = await post("api/undo", { answer: last.answer, annotator: annotator(), key: newKey() });
    question.asked = last.question.asked;
    questions = [question, ...questions.filter((each) => each.sentence !== question.sentence)];
    present();
    labels = [...last.labels];
    touched = true;
    redraw();
    byId("reason").textContent = "Taken back.";
    showRecent();
    say("the last answer is taken back");
  } catch (error) {
    complain(error);
  } finally {
    undoing = false;
  }
}

export function skip() {
  const question = current();
  if (!question) return;
  questions.shift();
  skipped.unshift(question.sentence);
  present();
  fetchMore();
}

const skipped = []; // the last one first

export async function openSentence(number) {
  try {
    const question = await post("api/open", { sentence: number });
    questions = [question, ...questions.filter((each) => each.sentence !== number)];
    present();
    byId("card").scrollIntoView({ block: "nearest" });
    tokenAt(0)?.focus();
  } catch (error) {
    complain(error);
  }
}

function showRecent() {
  byId("recent-part").hidden = !answered.length;
  byId("recent").replaceChildren(
    ...[...answered].reverse().slice(0, 5).map((each) => {
      const button = make("button", { type: "button", dir: "auto" }, each.question.words.map((word, t) => each.question.gaps[t] + word).join(""));
      button.addEventListener("click", () => openSentence(each.question.sentence));
      return make("li", {}, button);
    }),
  );
  byId("undo").disabled = !answered.length;
}

// What the server says of itself: another model, the curve.

async function watch() {
  for (;;) {
    try {
      const state = await get(`api/state${model >= 0 ? `?model=${model}` : ""}`);
      showState(state);
      if (state.model !== model) {
        model = state.model;
        await refresh();
      }
    } catch {
      await new Promise((done) => setTimeout(done, 2000));
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

function showState(state) {
  if (state.types.length !== project.types.length) {
    project.types = state.types;
    showTypes();
  }
  const parts = [`${state.labelled.toLocaleString("en")} of ${state.sentences.toLocaleString("en")} sentences labelled`];
  if (state.conflicts) parts.push(`${state.conflicts} in conflict`);
  if (state.suspects) parts.push(`${state.suspects} to look at again`);
  byId("counts").textContent = parts.join(" · ");
  byId("curve").replaceChildren(...curve(state.curve, project.score));
  byId("by-label").replaceChildren(...byLabel(state.curve, project.types));
  byId("forecast").textContent = forecast(state.more, project.score);
  byId("agreement").textContent = agreed(state.agreement);
  if (state.problem) complain(new Error(state.problem));
}

// New suggestions, where the annotator has not begun.
async function refresh() {
  if (!questions.length) {
    await fetchMore();
    return;
  }
  const { found } = await post("api/suggest", { sentences: questions.map((each) => each.sentence) });
  for (const each of found) {
    const question = questions.find((other) => other.sentence === each.sentence);
    if (!question) continue;
    question.suggestion = each.suggestion;
    if (!WHOLE.has(question.reason) && !(question === current() && touched)) question.asked = each.asked;
  }
  const question = current();
  if (question && !touched && !question.labels && question.reason !== "conflict") {
    shown = labels = labelsFor(question);
    explain(question);
    redraw();
  }
}
