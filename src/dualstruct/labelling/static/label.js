// What the annotator does: keys, the mouse, buttons and the search.

import { post } from "../shared/api.js";
import { byId, make } from "../shared/elements.js";
import {
  KEYS, accept, active, addType, anchor, annotator, choose, complain, connect, current, give, here, kind, move, openSentence,
  pick, picking, position, project, reach, remove, reset, say, skip, start, step, tokenAt, undo,
} from "./questions.js";

function isTyping(target) {
  return target.closest("input, select, textarea, dialog[open]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || !project) return;
  const onButton = event.target.closest("button, a") !== null && !event.target.closest(".token, .type");
  const label = event.shiftKey ? -1 : KEYS.indexOf(event.key.toLowerCase());
  const does = {
    ArrowLeft: () => step(-1, event.shiftKey),
    ArrowRight: () => step(1, event.shiftKey),
    Home: () => move(0, event.shiftKey),
    End: () => move(Infinity, event.shiftKey),
    Enter: onButton ? null : accept,
    Backspace: remove,
    Delete: remove,
    " ": onButton || !kind().hasHeads ? null : pick,
    Escape: picking === null ? null : () => connect(picking, picking),
    u: undo,
    s: skip,
    r: reset,
    n: () => openNewType(),
    "/": () => byId("words").focus(),
    "?": () => byId("keys").showModal(),
  };
  const action = does[event.key.length === 1 ? event.key.toLowerCase() : event.key] ?? (label >= 0 && label < project.types.length ? () => give(label) : null);
  if (!action || (event.repeat && event.key === "Enter")) return;
  event.preventDefault();
  action();
});

let dragging = null; // {from, moved}

byId("sentence").addEventListener("pointerdown", (event) => {
  const gone = event.target.closest("[data-remove]");
  if (gone || event.button !== 0) return;
  const token = event.target.closest(".token");
  if (!token) return;
  if (event.pointerType !== "touch") event.preventDefault();
  dragging = { from: Number(token.dataset.t) };
  if (picking !== null) {
    connect(dragging.from, picking);
    dragging = null;
    return;
  }
  move(dragging.from, false);
});

function under(event) {
  return document.elementFromPoint(event.clientX, event.clientY)?.closest?.("#sentence .token") ?? null;
}

document.addEventListener("pointermove", (event) => {
  if (!dragging || event.pointerType === "touch") return;
  const token = under(event);
  if (!token || Number(token.dataset.t) === here) return;
  reach(Number(token.dataset.t));
});

document.addEventListener("pointerup", (event) => {
  if (!dragging) return;
  dragging = null;
  const token = under(event);
  if (!token) return;
  if (kind().hasHeads) {
    if (here !== anchor) connect(anchor, here);
    return;
  }
  if (kind().gives(position())) give(active);
});
document.addEventListener("pointercancel", () => {
  dragging = null;
});

byId("sentence").addEventListener("click", (event) => {
  const gone = event.target.closest("[data-remove]");
  if (!gone) return;
  move(Number(gone.dataset.remove), false);
  remove();
});

byId("types").addEventListener("click", (event) => {
  if (event.target.closest("#add-type")) {
    openNewType();
    return;
  }
  const button = event.target.closest(".type");
  if (!button) return;
  const k = Number(button.dataset.type);
  if (current() && kind().isMarked(position())) give(k);
  else choose(k);
});

function openNewType() {
  byId("new-type-name").value = "";
  byId("new-type").showModal();
}

byId("new-type-form").addEventListener("submit", () => {
  const name = byId("new-type-name").value.trim();
  if (name) addType(name).then(() => current() && kind().isMarked(position()) && give(active));
});
byId("new-type-cancel").addEventListener("click", () => byId("new-type").close());
byId("accept").addEventListener("click", accept);
byId("remove").addEventListener("click", remove);
byId("head").addEventListener("click", () => {
  pick();
  tokenAt(here)?.focus();
});
byId("undo").addEventListener("click", undo);
byId("skip").addEventListener("click", skip);
byId("show-keys").addEventListener("click", () => byId("keys").showModal());
byId("annotator").addEventListener("change", () => localStorage.setItem("annotator", annotator()));
byId("words").addEventListener("keydown", (event) => {
  if (event.key === "Escape") tokenAt(here)?.focus();
});
byId("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = { words: byId("words").value, label: byId("with-label").value, among: byId("among").value };
  try {
    const { found } = await post("api/search", body);
    byId("found").replaceChildren(
      ...found.map((each) => {
        const button = make("button", { type: "button", dir: "auto" }, each.conflict ? "⚡ " : each.labelled ? "✓ " : "", each.text);
        button.addEventListener("click", () => openSentence(each.sentence));
        return make("li", {}, button);
      }),
      ...(found.length ? [] : [make("li", { class: "soft" }, "Nothing was found.")]),
    );
    say(`${found.length} found`);
  } catch (error) {
    complain(error);
  }
});
addEventListener("resize", () => project && kind().place(byId("sentence")));
byId("undo").disabled = true;
start();
