// The training sentences that fight the model, the worst first.

import { make, sentence } from "./elements.js";

export function suspects(found, tryOut) {
  if (found.state !== "ready") return [make("p", { class: found.state === "failed" ? "problem" : "soft" }, sentence(found.message))];
  return [];
}
