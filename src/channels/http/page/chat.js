// A conversation: its messages as they come, approvals and choices with buttons, and what is being written.

import { base64, el, get, moment, post, say, t } from "./dom.js";
import { markdown } from "./markdown.js";

// The program takes 8 MiB of a message, in which files are a third longer.
const FILES_BYTES = 6 * 1024 * 1024;
// Work that is not heard of for so long has ended.
const WORKING_MS = 12000;
// A page that is not looked at needs no connection after this.
const HIDDEN_MS = 60000;

export function chat(main, me, [wanted]) {
  const name = me.chats.includes(wanted) || /^[a-z0-9-]{1,32}$/.test(wanted ?? "") ? wanted : "main";
  const base = `chats/${name}/`;
  const shown = new Map();
  const log = el("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": t("chat") });
  const empty = el("p", { class: "empty" }, t("empty"));
  const draft = el("article", { class: "message draft", "aria-live": "off", hidden: true });
  const working = el("p", { class: "working", hidden: true }, t("working"));
  const stop = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => send("/stop") }, t("stop"));
  const text = el("textarea", { id: "text", rows: "1", placeholder: t("placeholder"), enterkeyhint: "send" });
  const chosen = el("ul", { class: "files" });
  const picker = el("input", { type: "file", multiple: true, id: "picker", class: "hidden" });
  let files = [];
  let source = null;
  let idle = 0;
  let away = 0;

  const form = el("form", { class: "compose", onsubmit: submit },
    chosen,
    el("label", { for: "text", class: "hidden" }, t("message")), text,
    picker,
    el("label", { for: "picker", class: "button quiet", title: t("attach") }, el("span", { class: "hidden" }, t("attach")), el("span", { "aria-hidden": "true" }, "+")),
    stop,
    el("button", { type: "submit" }, t("send")));
  main.append(el("h1", { class: "hidden" }, t("chat")), picking(me, name), log, form);
  log.append(empty, draft, working);

  picker.addEventListener("change", () => {
    files.push(...picker.files);
    picker.value = "";
    listFiles();
  });
  text.addEventListener("input", grow);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) {
      files.push(...event.clipboardData.files);
      listFiles();
    }
  });
  document.addEventListener("visibilitychange", visible);

  function grow() {
    text.rows = Math.min(8, text.value.split("\n").length);
  }

  function listFiles() {
    chosen.replaceChildren(...files.map((file) => el("li", {}, file.name, " ",
      el("button", { type: "button", class: "quiet", "aria-label": `${t("remove")} ${file.name}`, onclick: () => {
        files = files.filter((one) => one !== file);
        listFiles();
      } }, "×"))));
  }

  async function submit(event) {
    event.preventDefault();
    const written = text.value.trim();
    if (!written && !files.length) return;
    if (files.reduce((sum, file) => sum + file.size, 0) > FILES_BYTES) return say(t("too_large"));
    const sent = files;
    [text.value, files] = ["", []];
    grow();
    listFiles();
    if (!(await send(written, sent))) {
      text.value = text.value || written;
      files.push(...sent);
      grow();
      listFiles();
    }
    text.focus();
  }

  // Sends a message. The same id again is the same message, so that a lost answer is asked for once more.
  async function send(written, sent = []) {
    const id = crypto.randomUUID?.() ?? String(Math.random()) + Date.now();
    try {
      const list = await Promise.all(sent.map(async (file) => ({ name: file.name, data: await base64(file) })));
      const body = { id, text: written, files: list };
      await post(base + "messages", body).catch((error) => {
        if (error.status) throw error;
        return new Promise((again) => setTimeout(again, 1500)).then(() => post(base + "messages", body));
      });
      if (!written.startsWith("/")) busy(true);
      return true;
    } catch (error) {
      if (error.status === 401) location.reload();
      say(t("not_sent", error.message));
      return false;
    }
  }

  function busy(isBusy) {
    clearTimeout(idle);
    working.hidden = !isBusy || !draft.hidden;
    stop.hidden = !isBusy;
    if (isBusy) idle = setTimeout(() => busy(false), WORKING_MS);
  }

  async function press(message, button, row) {
    for (const one of row.querySelectorAll("button")) one.disabled = true;
    try {
      const done = await post(base + "presses", { message: message.id, data: button.data });
      if (done.notice) say(done.notice);
    } catch (error) {
      say(t("failed", error.message));
    }
    for (const one of row.querySelectorAll("button")) one.disabled = false;
  }

  function render(message) {
    const who = message.own ? "you" : "bot";
    const body = el("div", { class: "body" });
    if (message.marked) body.append(markdown(message.text));
    else body.append(el("p", { class: "plain" }, message.text));
    for (const pre of body.querySelectorAll("pre")) addCopy(pre);
    const head = el("p", { class: "head" }, el("span", {}, message.own ? t("you") : "Peacrab"));
    if (message.at) head.append(" ", moment(message.at / 1000, "short", true));
    const article = el("article", { class: "message " + who }, head, body);
    if (message.file) article.append(fileOf(message.file));
    if (message.buttons?.length) {
      const row = el("div", { class: "buttons" });
      for (const button of message.buttons.flat()) {
        row.append(el("button", { type: "button", class: row.children.length ? "quiet" : null, onclick: () => press(message, button, row) }, button.label));
      }
      article.append(row);
    }
    return article;
  }

  function fileOf(file) {
    const path = `/page/${base}files/${file.id}`;
    const link = el("a", { href: path, download: file.name }, file.name);
    if (!/\.(png|jpe?g|webp|gif)$/i.test(file.name)) return el("p", {}, link);
    return el("figure", {}, el("img", { src: path, alt: file.name, loading: "lazy" }), el("figcaption", {}, link));
  }

  function addCopy(pre) {
    pre.tabIndex = 0;
    if (!navigator.clipboard) return;
    const copy = async () => {
      await navigator.clipboard.writeText(pre.querySelector("code").textContent);
      say(t("copied"));
    };
    pre.after(el("button", { type: "button", class: "quiet copy", onclick: copy }, t("copy")));
  }

  function take(news) {
    const isLow = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    if (news.reset) {
      for (const element of shown.values()) element.remove();
      shown.clear();
      // What was there before is not read out again.
      log.setAttribute("aria-live", "off");
      setTimeout(() => log.setAttribute("aria-live", "polite"), 500);
    }
    for (const message of news.messages) {
      const before = shown.get(message.id);
      if (message.gone) {
        before?.remove();
        shown.delete(message.id);
        continue;
      }
      const element = render(message);
      if (before) before.replaceWith(element);
      else draft.before(element);
      shown.set(message.id, element);
    }
    if (news.draft !== undefined) {
      draft.hidden = !news.draft;
      draft.replaceChildren(el("div", { class: "body" }, markdown(news.draft)));
    }
    if (news.working !== undefined) busy(news.working);
    if (!draft.hidden) working.hidden = true;
    empty.hidden = shown.size > 0;
    if (isLow || news.reset) log.scrollTop = log.scrollHeight;
  }

  function connect() {
    source?.close();
    source = new EventSource("/page/" + base + "events");
    source.addEventListener("open", () => {
      document.body.classList.remove("offline");
      connect.wait = 1000;
    });
    source.addEventListener("message", (event) => take(JSON.parse(event.data)));
    source.addEventListener("error", async () => {
      document.body.classList.add("offline");
      say(t("offline"));
      source.close();
      connect.wait = Math.min(30000, (connect.wait ?? 1000) * 2);
      clearTimeout(connect.timer);
      connect.timer = setTimeout(again, connect.wait);
    });
  }

  async function again() {
    const now = await get("me").catch(() => null);
    if (now && !now.signed) location.reload();
    else if (source) connect();
  }

  function visible() {
    clearTimeout(away);
    if (document.hidden) {
      away = setTimeout(() => source?.close(), HIDDEN_MS);
    } else if (source?.readyState === EventSource.CLOSED) {
      connect.wait = 1000;
      connect();
    }
  }

  addEventListener("online", again);
  connect();
  text.focus();
  return () => {
    source?.close();
    source = null;
    clearTimeout(connect.timer);
    clearTimeout(away);
    clearTimeout(idle);
    removeEventListener("online", again);
    document.removeEventListener("visibilitychange", visible);
  };
}

// The conversations to choose from.
function picking(me, name) {
  const names = me.chats.includes(name) ? me.chats : [...me.chats, name];
  me.chats = names;
  const option = (one) => el("option", { value: one, selected: one === name }, one === "main" ? t("main") : one);
  const select = el("select", { id: "conversation", "aria-label": t("conversation"), onchange: () => { location.hash = "chat/" + select.value; } },
    ...names.map(option));
  const fresh = () => {
    const wanted = prompt(t("name_of_conversation"));
    if (wanted && /^[a-z0-9-]{1,32}$/.test(wanted)) location.hash = "chat/" + wanted;
    else if (wanted) say(t("name_of_conversation"));
  };
  return el("div", { class: "picking" }, el("label", { for: "conversation" }, t("conversation")), select,
    el("button", { type: "button", class: "quiet", onclick: fresh }, t("new_conversation")));
}
