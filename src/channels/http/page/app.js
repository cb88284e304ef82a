// The beginning: signing in, and which part of the page is shown.

import { board } from "./board.js";
import { chat } from "./chat.js";
import { el, get, post, say, setTexts, t } from "./dom.js";
import { files } from "./files.js";
import { audit, settings, work } from "./work.js";

const main = document.getElementById("main");
const header = document.getElementById("header");
// As it is called in every language.
const NAME = "Peacrab";
let leave = () => {};

// The parts of the page: a path behind the #, what it is called, and what shows it.
const PARTS = [
  { path: "chat", name: "chat", show: chat },
  { path: "board", name: "board", show: board, needs: ["user", "owner"] },
  { path: "work", name: "work", show: work, needs: ["user", "owner"] },
  { path: "files", name: "files", show: files, needs: ["owner"] },
  { path: "audit", name: "audit", show: audit, needs: ["owner"] },
  { path: "settings", name: "settings", show: settings, needs: ["owner"] },
];

function signIn(code) {
  const button = el("button", { type: "button", onclick: press }, t("sign_in"));
  // A press, so that the preview of a link uses nothing up.
  async function press() {
    button.disabled = true;
    try {
      await post("sign-in", { code });
      history.replaceState(null, "", "/");
      start();
    } catch (error) {
      main.replaceChildren(card(error.status === 403 ? t("link_used") : t("failed", error.message)));
    }
  }
  main.replaceChildren(card(t("sign_in_here"), button));
  button.focus();
}

function card(text, ...more) {
  return el("section", { class: "card" }, el("h1", {}, NAME), el("p", { role: "alert" }, text), ...more);
}

function nav(me) {
  const links = PARTS.filter((part) => !part.needs || part.needs.includes(me.role));
  const list = links.map((part) => el("li", {}, el("a", { href: "#" + part.path }, t(part.name))));
  const out = el("button", { type: "button", class: "quiet", onclick: signOut }, t("sign_out"));
  header.replaceChildren(
    el("nav", { "aria-label": NAME }, el("ul", {}, ...list)),
    el("span", { class: "who" }, `${me.name} (${t(me.role)})`),
    out,
  );
  header.hidden = false;
}

async function signOut() {
  await post("sign-out", {}).catch(() => {});
  location.replace("/");
}

function route(me) {
  const [path, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  const part = PARTS.find((one) => one.path === path && (!one.needs || one.needs.includes(me.role))) ?? PARTS[0];
  leave();
  for (const link of header.querySelectorAll("nav a")) {
    const isHere = link.getAttribute("href") === "#" + part.path;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${t(part.name)} · ${NAME}`;
  main.replaceChildren();
  main.focus();
  leave = part.show(main, me, rest) ?? (() => {});
}

async function start() {
  const me = await get("me");
  setTexts(me.texts);
  document.documentElement.lang = me.language;
  document.getElementById("skip").textContent = t("skip");
  document.title = NAME;
  const code = location.pathname === "/sign-in" ? location.hash.slice(1) : "";
  if (code && !me.signed) return signIn(code);
  if (!me.signed) return main.replaceChildren(card(t("signed_out")));
  if (location.pathname !== "/") history.replaceState(null, "", "/");
  nav(me);
  addEventListener("hashchange", () => route(me));
  route(me);
}

start().catch((error) => say(String(error.message)));
