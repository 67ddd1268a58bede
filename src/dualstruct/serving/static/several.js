// Several sentences at once, a line each: what the model says of them, and files of it.

import { make } from "./elements.js";
import { coloured, differences } from "./results.js";

export const MOST_LINES = 500;

// A list of sentences with their labels in colours; `open` is called with the number of one of them. Beside those of
// which another model says something else (`others` are its answers) is how many tokens differ.
export function overview(answers, others, open) {
  return make(
    "ol",
    { class: "several" },
    answers.map((answer, k) => {
      const differ = others[k] ? differences(answer, others[k]).length : 0;
      const note = differ ? make("span", { class: "differ" }, differ === 1 ? "1 word differs" : `${differ} words differ`) : null;
      const button = make("button", { type: "button", dir: "auto" }, coloured(answer), note);
      button.addEventListener("click", () => open(k));
      return make("li", {}, button);
    }),
  );
}

// One token per line with its label, or CoNLL-U.
export function asFile(answers) {
  const rows = answers.map((answer) =>
    answer.tokens
      .map((word, t) => {
        if (answer.labels) return `${word}\t${answer.labels[t]}`;
        const tag = answer.picture?.words[t].tag || "_";
        return [t + 1, word, "_", tag, "_", "_", answer.heads[t], answer.relations[t], "_", "_"].join("\t");
      })
      .join("\n"),
  );
  return `${rows.join("\n\n")}\n\n`;
}

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
