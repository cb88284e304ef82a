// What the agent does: reports as the bot gives them, the audit log, and the settings with what they are for.

import { el, get, label, moment, say, scrolling, svg, t, withCode } from "./dom.js";
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
    const panel = el("section", { class: "panel", "aria-labelledby": "head-" + name }, el("h2", { id: "head-" + name }, t(name)), body);
    if (name === "usage") get("usage").then((days) => panel.append(...bars(days))).catch(() => {});
    return panel;
  });
  main.append(scrolling(t("work"), ...panels));
}

// A bar for what each day cost, or for its tokens where nothing has a price. Arrows move the mark.
function bars(days) {
  const isCost = days.some((one) => one.cost > 0);
  const values = days.map((one) => isCost ? one.cost : one.tokens);
  const most = Math.max(...values);
  if (!most) return [];
  const show = (value) => isCost ? "$" + value.toFixed(2) : t("tokens", value.toLocaleString());
  const date = (one) => new Date(one.day + "T12:00").toLocaleDateString([], { day: "numeric", month: "numeric" });
  const [width, height, top] = [600, 150, 22];
  const step = width / days.length;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0", class: "plot", "aria-label": t("by_day", show(most)) });
  let mark = days.length;

  function point(index, isTold) {
    if (!days[index]) return;
    mark = index;
    drawing.querySelector(".mark")?.remove();
    const text = [date(days[index]), show(values[index]), isCost && t("tokens", days[index].tokens.toLocaleString())].filter(Boolean).join(" · ");
    const isRight = index > days.length / 2;
    drawing.append(svg("g", { class: "mark" }, label(text, (index + (isRight ? 1 : 0)) * step, top - 8, isRight ? "end" : "start")));
    if (isTold) say(text, false);
  }

  values.forEach((value, index) => {
    const size = value / most * (height - top - 20);
    drawing.append(svg("rect", { x: index * step + 1, y: height - 20 - size, width: step - 2, height: size, class: "bar" }));
  });
  drawing.append(label(date(days[0]), 0, height - 5, "start"), label(date(days[days.length - 1]), width, height - 5, "end"));
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    point(Math.floor((event.clientX - box.left) / box.width * days.length));
  });
  drawing.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    point(Math.min(days.length - 1, Math.max(0, mark + move)), true);
    event.preventDefault();
  });
  return [el("figure", {}, el("figcaption", {}, t("by_day", show(most))), drawing)];
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
      rows.append(el("tr", {}, el("td", {}, moment(when, "medium")), el("td", {}, String(event ?? kind ?? "")), el("td", { class: "plain long" }, details.join("\n"))));
    }
    if (!entries.length) rows.append(el("tr", {}, el("td", { colspan: "3" }, t("none"))));
  }).catch((error) => say(t("failed", error.message)));
}

export function settings(main) {
  const list = el("dl", {});
  const search = el("input", { id: "search", type: "search", oninput: filter });
  main.append(scrolling(t("settings"), el("p", {}, ...withCode(t("settings_hint"))),
    el("p", {}, el("label", { for: "search" }, t("search")), " ", search), list));
  let all = [];

  function filter() {
    const word = search.value.trim().toLowerCase();
    const found = all.filter((one) => `${one.path} ${one.meaning} ${one.value ?? ""}`.toLowerCase().includes(word));
    list.replaceChildren(...found.flatMap((one) => [
      el("dt", {}, el("code", {}, one.path)),
      el("dd", {}, ...withCode(one.meaning), " ", el("span", { class: "who" }, `${t("default")}: ${one.default}`),
        one.value === undefined ? null : el("div", {}, `${t("now")}: `, el("strong", {}, one.value), ` (${one.source})`)),
    ]));
  }

  get("settings").then((found) => {
    all = found;
    filter();
  }).catch((error) => say(t("failed", error.message)));
}
