// The files of the workspace: folders to open, files to load, and a place to put new ones.

import { base64, el, get, moment, post, say, scrolling, t } from "./dom.js";

// The program takes 8 MiB of a request, in which a file is a third longer.
const FILE_BYTES = 6 * 1024 * 1024;

export function files(main, me, [folder = ""]) {
  const join = (name) => (folder ? `${folder}/${name}` : name);
  const rows = el("tbody", {});
  const picker = el("input", { type: "file", multiple: true, id: "upload", class: "hidden", onchange: upload });
  const parts = folder ? folder.split("/") : [];
  const crumbs = parts.map((part, index) => el("li", {}, link(part, parts.slice(0, index + 1).join("/"))));
  main.append(scrolling(t("files"),
    el("nav", { "aria-label": t("folder") }, el("ol", { class: "crumbs" }, el("li", {}, link(t("workspace"), "")), ...crumbs)),
    el("p", {}, picker, el("label", { for: "upload", class: "button quiet" }, t("upload"))),
    el("div", { class: "wide", tabindex: "0" }, el("table", {},
      el("thead", {}, el("tr", {}, ...["name", "size", "time"].map((name) => el("th", { scope: "col" }, t(name))))), rows))));

  function link(name, path) {
    return el("a", { href: "#files/" + encodeURIComponent(path) }, name);
  }

  async function list() {
    try {
      const found = await get("folders/" + encodeURIComponent(folder));
      rows.replaceChildren(...found.names.map((one) => el("tr", {},
        el("td", { class: "long" }, one.folder ? link(one.name + "/", join(one.name)) :
          el("a", { href: "/page/files/" + encodeURIComponent(join(one.name)), download: one.name }, one.name)),
        el("td", { class: "number" }, one.folder ? "" : size(one.bytes)),
        el("td", {}, moment(one.at, "short")))));
      if (found.more) rows.append(el("tr", {}, el("td", { colspan: "3" }, t("more", found.more))));
      if (!found.names.length) rows.append(el("tr", {}, el("td", { colspan: "3" }, t("none"))));
    } catch (error) {
      say(t("failed", error.message));
    }
  }

  async function upload() {
    for (const file of [...picker.files]) {
      if (file.size > FILE_BYTES) {
        say(t("too_large"));
        continue;
      }
      const body = { path: join(file.name), data: await base64(file) };
      try {
        await post("files", body).catch((error) => {
          if (error.status !== 409 || !confirm(t("overwrite", file.name))) throw error;
          return post("files", { ...body, overwrite: true });
        });
        say(t("stored", file.name));
      } catch (error) {
        say(t("failed", error.message));
      }
    }
    picker.value = "";
    list();
  }

  list();
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  let value = bytes;
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit ? value.toFixed(1) : value} ${units[unit]}`;
}
