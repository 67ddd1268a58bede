// Small helpers to make elements. Text only ever becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

// A message as a sentence.
export function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.…]$/u.test(text) ? "" : "."}` : "";
}

export function signed(number, digits = 4) {
  return (number < 0 ? "−" : "+") + Math.abs(number).toFixed(digits);
}

// One stop for the tab key in a row of buttons; the arrow keys move along it.
export function roving(row, selector) {
  const all = () => [...row.querySelectorAll(selector)];
  const enter = (chosen) => all().forEach((each) => each.setAttribute("tabindex", each === chosen ? "0" : "-1"));
  enter(all()[0]);
  row.addEventListener("focusin", (event) => {
    const chosen = event.target.closest(selector);
    if (chosen) enter(chosen);
  });
  row.addEventListener("keydown", (event) => {
    const items = all();
    const here = items.indexOf(event.target.closest(selector));
    const places = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: items.length - 1 };
    if (here < 0 || !(event.key in places)) return;
    event.preventDefault();
    items[Math.min(Math.max(places[event.key], 0), items.length - 1)].focus();
  });
}
