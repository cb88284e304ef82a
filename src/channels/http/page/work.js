// What the agent does: reports as the bot gives them, the audit log, and the settings with what they are for.

import { el, get, say, scrolling, t } from "./dom.js";
import { markdown } from "./markdown.js";

// How often a report is asked for again while the agent is being prepared.
const WAIT_MS = 800;

const REPORTS = [
  ["status", "user"], ["usage", "user"], ["watch", "owner"], ["cron", "user"], ["remind", "user"], ["tasks", "user"], ["memory", "user"],
];

export function work(main, me) {
  const panels = REPORTS.filter(([, least]) => me.role === "owner" || least === "user").map(([name]) => {
    const body = el("div", { class: "body" });
    load(name, body);
    return el("section", { class: "panel", "aria-labelledby": "head-" + name }, el("h2", { id: "head-" + name }, t(name)), body);
  });
  main.append(scrolling(t("work"), ...panels));
}

async function load(name, body) {
  try {
    const report = await get("reports/" + name);
    if (!report.wait) body.replaceChildren(markdown(report.text));
    else setTimeout(() => body.isConnected && load(name, body), WAIT_MS);
  } catch (error) {
    body.replaceChildren(el("p", {}, t("failed", error.message)));
  }
}

export function audit(main) {
  const rows = el("tbody", {});
  main.append(scrolling(t("audit"),
    el("div", { class: "wide", tabindex: "0" }, el("table", {},
      el("thead", {}, el("tr", {}, ...["time", "what", "details"].map((name) => el("th", { scope: "col" }, t(name))))), rows))));
  get("audit").then((entries) => {
    for (const { time, at, event, kind, id, ...rest } of entries) {
      const when = time ?? at ?? "";
      const details = Object.entries(rest).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
      rows.append(el("tr", {}, el("td", {}, String(when)), el("td", {}, String(event ?? kind ?? "")), el("td", { class: "plain" }, details.join("\n"))));
    }
    if (!entries.length) rows.append(el("tr", {}, el("td", { colspan: "3" }, t("none"))));
  }).catch((error) => say(t("failed", error.message)));
}

export function settings(main) {
  const list = el("dl", {});
  const search = el("input", { id: "search", type: "search", oninput: filter });
  main.append(scrolling(t("settings"), el("p", {}, t("settings_hint")),
    el("p", {}, el("label", { for: "search" }, t("search")), " ", search), list));
  let all = [];

  function filter() {
    const word = search.value.trim().toLowerCase();
    const found = all.filter((one) => (one.path + " " + one.meaning).toLowerCase().includes(word));
    list.replaceChildren(...found.flatMap((one) => [
      el("dt", {}, el("code", {}, one.path)),
      el("dd", {}, one.meaning, " ", el("span", { class: "who" }, `${t("default")}: ${one.default}`)),
    ]));
  }

  get("settings").then((found) => {
    all = found;
    filter();
  }).catch((error) => say(t("failed", error.message)));
}
