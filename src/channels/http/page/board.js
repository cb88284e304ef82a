// The board: how it is now, and the plots of its history, with zoom and values under the pointer.

import { el, get, label, say, scrolling, svg, t } from "./dom.js";
import { markdown } from "./markdown.js";

const SPANS = [["6h", 6 * 3600], ["24h", 24 * 3600], ["7d", 7 * 24 * 3600]];
// As often as the values change.
const REFRESH_MS = 15000;
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [600, 190, 62, 26, 18];

export function board(main, me, [wanted]) {
  let span = SPANS.find(([name]) => name === wanted) ?? SPANS[1];
  const status = el("div", { class: "body" });
  const plots = el("div", { class: "plots" });
  const spans = SPANS.map((one) => el("button", {
    type: "button", class: "quiet", "aria-pressed": String(one === span), onclick: () => { location.hash = "board/" + one[0]; },
  }, one[0]));
  main.append(scrolling(t("board"), el("section", { class: "panel", "aria-label": t("now") }, status),
    el("div", { class: "buttons", role: "group", "aria-label": t("span") }, ...spans), plots));
  let timer = 0;

  async function refresh(seconds) {
    try {
      const shown = await get("board/" + seconds);
      status.replaceChildren(markdown(shown.status));
      if (seconds === span[1]) plots.replaceChildren(...shown.curves.map((curve) => plot(curve)));
    } catch (error) {
      say(t("failed", error.message));
    }
    clearTimeout(timer);
    if (timer !== null) timer = setTimeout(() => refresh(document.hidden ? 0 : 60), REFRESH_MS);
  }

  refresh(span[1]);
  return () => {
    clearTimeout(timer);
    timer = null;
  };
}

function format(value, unit) {
  if (unit === "B/s") {
    const step = value >= 1e6 ? [1e6, " MB/s"] : value >= 1e3 ? [1e3, " kB/s"] : [1, " B/s"];
    return (value / step[0]).toFixed(step[0] > 1 ? 1 : 0) + step[1];
  }
  return `${Number(value.toPrecision(3))}${unit ? " " + unit : ""}`;
}

function clock(seconds, isLong) {
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return isLong ? `${date.toLocaleDateString([], { day: "numeric", month: "numeric" })} ${time}` : time;
}

// A curve. Dragging over it, or + and - with the keyboard, zooms; arrows move the mark.
function plot(curve) {
  const all = curve.points;
  let [from, to] = [all[0][0], all[all.length - 1][0]];
  const title = el("figcaption", {});
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0", class: "plot" });
  const back = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => zoom(all[0][0], all[all.length - 1][0]) }, t("all"));
  const figure = el("figure", { class: "panel" }, title, drawing, back);
  let points = [];
  let [low, high] = [0, 1];
  let mark = null;
  let start = null;

  const x = (at) => LEFT + (at - from) / Math.max(1, to - from) * (WIDTH - LEFT - 8);
  const y = (value) => TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    const inside = ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT - 8);
    return from + Math.min(1, Math.max(0, inside)) * (to - from);
  };

  function zoom(begin, end) {
    if (end - begin < 300) return;
    [from, to] = [begin, end];
    back.hidden = from === all[0][0] && to === all[all.length - 1][0];
    draw();
  }

  function draw() {
    points = all.filter(([when]) => when >= from && when <= to);
    const values = points.map(([, value]) => value).filter((value) => value !== null);
    if (!values.length) return;
    [low, high] = [Math.min(...values), Math.max(...values)];
    const last = values[values.length - 1];
    const summary = `${curve.name}: ${format(last, curve.unit)} (${format(low, curve.unit)} – ${format(high, curve.unit)})`;
    title.textContent = summary;
    drawing.setAttribute("aria-label", summary);
    const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
    [low, high] = [low - room, high + room];
    let path = "";
    let isGap = true;
    for (const [when, value] of points) {
      if (value === null) isGap = true;
      else {
        path += `${isGap ? "M" : "L"}${x(when).toFixed(1)} ${y(value).toFixed(1)}`;
        isGap = false;
      }
    }
    const lines = [0, 0.5, 1].map((part) => {
      const value = low + (high - low) * part;
      return svg("g", {}, svg("line", { x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value), class: "grid" }),
        label(format(value, "").trim(), LEFT - 5, y(value) + 4, "end"));
    });
    const isLong = to - from > 26 * 3600;
    const times = [0, 0.5, 1].map((part) => {
      const when = from + (to - from) * part;
      return label(clock(when, isLong), x(when), HEIGHT - 6, ["start", "middle", "end"][part * 2]);
    });
    drawing.replaceChildren(...lines, ...times, svg("path", { d: path, class: "curve" }));
    mark = null;
  }

  function point(when) {
    const known = points.filter(([, value]) => value !== null);
    if (!known.length) return;
    const near = known.reduce((best, one) => Math.abs(one[0] - when) < Math.abs(best[0] - when) ? one : best);
    drawing.querySelector(".mark")?.remove();
    mark = known.indexOf(near);
    const text = `${clock(near[0], true)}: ${format(near[1], curve.unit)}`;
    const isRight = x(near[0]) > WIDTH / 2;
    drawing.append(svg("g", { class: "mark" },
      svg("line", { x1: x(near[0]), x2: x(near[0]), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
      svg("circle", { cx: x(near[0]), cy: y(near[1]), r: 4 }),
      label(text, x(near[0]) + (isRight ? -8 : 8), TOP + 12, isRight ? "end" : "start")));
    return text;
  }

  drawing.addEventListener("pointerdown", (event) => { start = at(event); });
  drawing.addEventListener("pointermove", (event) => point(at(event)));
  drawing.addEventListener("pointerleave", () => drawing.querySelector(".mark")?.remove());
  drawing.addEventListener("pointerup", (event) => {
    const end = at(event);
    if (start !== null && Math.abs(end - start) > (to - from) / 50) zoom(Math.min(start, end), Math.max(start, end));
    start = null;
  });
  drawing.addEventListener("keydown", (event) => {
    const known = points.filter(([, value]) => value !== null);
    const middle = known[mark ?? known.length - 1]?.[0] ?? to;
    const quarter = (to - from) / 4;
    if (event.key === "+") zoom(Math.max(all[0][0], middle - quarter), Math.min(all[all.length - 1][0], middle + quarter));
    else if (event.key === "-" || event.key === "Escape") zoom(all[0][0], all[all.length - 1][0]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const next = (mark ?? known.length) + (event.key === "ArrowLeft" ? -1 : 1);
      const text = known[next] && point(known[next][0]);
      if (text) say(text, false);
    } else return;
    event.preventDefault();
  });
  draw();
  return figure;
}
