// Elements, texts and requests: what every part of the page uses.

let texts = {};

export function setTexts(all) {
  texts = all;
}

// A text of the program by its name, with a value in place of {0}.
export function t(name, value = "") {
  return (texts[name] ?? name).replace("{0}", () => value);
}

// An element with attributes and children. Strings are text and never markup.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The same of a drawing.
export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function label(text, left, top, anchor) {
  const one = svg("text", { x: left, y: top, "text-anchor": anchor });
  one.textContent = text;
  return one;
}

// A moment, in seconds or as it is written in files, as people in this language write it: of today without the date, if that is enough.
export function moment(when, timeStyle, isBrief = false) {
  const date = new Date(typeof when === "number" ? when * 1000 : when);
  if (Number.isNaN(date.getTime())) return String(when);
  const dateStyle = isBrief && date.toDateString() === new Date().toDateString() ? undefined : "short";
  return el("time", { datetime: date.toISOString() }, date.toLocaleString(document.documentElement.lang, { dateStyle, timeStyle }));
}

// Text with code between backticks.
export function withCode(text) {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

// A part that scrolls by itself, also by keyboard.
export function scrolling(name, ...children) {
  return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": name }, el("h1", {}, name), ...children);
}

// Says something to people who do not see the page, and shows it to the others for a moment.
export function say(text, isShown = true) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.className = text && isShown ? "shown" : "";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => {
    status.className = "";
    status.textContent = "";
  }, 5000);
}

export class Failed extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function read(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw new Failed(response.status, body.error?.message ?? String(response.status));
}

export async function get(path) {
  return read(await fetch("/page/" + path, { cache: "no-store" }));
}

export async function post(path, body) {
  return read(await fetch("/page/" + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-peacrab-page": "1" },
    body: JSON.stringify(body),
  }));
}

// A file as base64.
export function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}
