// Markdown as elements. Nothing of a text becomes markup by itself: every node is made here, and only of the kinds below.

const LINK = /^(https?:\/\/|mailto:)/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/s;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
// Each part has a bound: a text of only beginnings takes no more time than one of as many letters, times that bound.
const ANCHOR = /^!?\[((?:\\.|[^\]\\]){0,1000})\]\(\s{0,9}<?([^\s()<>]{0,2000}(?:\([^\s()]{0,2000}\)[^\s()<>]{0,2000}){0,9})>?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\)/;
// How deep lists and quotes go; what is deeper is text.
const DEPTH = 8;

export function markdown(text, make = document) {
  const out = make.createDocumentFragment();
  blocks(text.replace(/\r\n?/g, "\n").split("\n"), out, make, 0);
  return out;
}

function blocks(lines, into, make, depth) {
  const add = (name, parent = into) => parent.appendChild(make.createElement(name));
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (fence) {
      const body = [];
      for (at += 1; at < lines.length && !lines[at].trim().startsWith(fence[1]); at += 1) body.push(lines[at]);
      at += 1;
      const code = add("code", add("pre"));
      code.textContent = body.join("\n");
      if (fence[2]) code.setAttribute("data-language", fence[2]);
      continue;
    }
    if (!line.trim()) {
      at += 1;
      continue;
    }
    const heading = /^ {0,3}(#{1,6})(?=\s)/.exec(line);
    if (heading) {
      // The page has its own first headings.
      inline(title(line.slice(heading[0].length)), add("h" + Math.min(6, heading[1].length + 2)), make, 0);
      at += 1;
      continue;
    }
    if (RULE.test(line)) {
      add("hr");
      at += 1;
      continue;
    }
    if (/^ {0,3}>/.test(line) && depth < DEPTH) {
      const body = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at += 1) body.push(lines[at].replace(/^ {0,3}> ?/, ""));
      blocks(body, add("blockquote"), make, depth + 1);
      continue;
    }
    if (ITEM.test(line) && depth < DEPTH) {
      at = list(lines, at, into, make, depth);
      continue;
    }
    if (line.includes("|") && (lines[at + 1] ?? "").includes("-") && cells(lines[at + 1]).every((cell) => /^:?-+:?$/.test(cell))) {
      at = table(lines, at, into, make);
      continue;
    }
    const body = [line];
    for (at += 1; at < lines.length && !begins(lines[at], depth); at += 1) body.push(lines[at]);
    inline(body.join("\n"), add("p"), make, 0);
  }
}

// The text of a heading, without the signs that close it.
function title(text) {
  const whole = text.trim();
  let end = whole.length;
  while (whole[end - 1] === "#") end -= 1;
  return end === 0 || /\s/.test(whole[end - 1]) ? whole.slice(0, end).trim() : whole;
}

function begins(line, depth) {
  return !line.trim() || FENCE.test(line) || RULE.test(line) || /^ {0,3}#{1,6}\s/.test(line) ||
    (depth < DEPTH && (/^ {0,3}>/.test(line) || ITEM.test(line)));
}

function list(lines, at, into, make, depth) {
  const first = ITEM.exec(lines[at]);
  const indent = first[1].length;
  const isNumbered = /\d/.test(first[2]);
  const all = into.appendChild(make.createElement(isNumbered ? "ol" : "ul"));
  if (isNumbered && parseInt(first[2], 10) !== 1) all.setAttribute("start", parseInt(first[2], 10));
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[1].length < indent || /\d/.test(item[2]) !== isNumbered) break;
    const width = lines[at].length - item[3].length;
    const body = [item[3]];
    for (at += 1; at < lines.length; at += 1) {
      const line = lines[at];
      const lead = line.length - line.trimStart().length;
      if (!line.trim()) {
        const next = lines[at + 1] ?? "";
        if (!next.trim() || next.length - next.trimStart().length <= indent) break;
        body.push("");
      } else if (lead > indent) {
        body.push(line.slice(Math.min(lead, width)));
      } else if (begins(line, depth)) {
        break;
      } else {
        body.push(line);
      }
    }
    const element = all.appendChild(make.createElement("li"));
    const task = /^\[([ xX])\]\s+/.exec(body[0]);
    if (task) {
      body[0] = (task[1] === " " ? "☐ " : "☑ ") + body[0].slice(task[0].length);
    }
    if (body.length === 1) inline(body[0], element, make, 0);
    else blocks(body, element, make, depth + 1);
    while (at < lines.length && !lines[at].trim() && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  return at;
}

function cells(line) {
  const parts = line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  return parts.map((part) => part.trim().replace(/\\\|/g, "|"));
}

function table(lines, at, into, make) {
  // What is too wide for a phone scrolls by itself.
  const box = into.appendChild(make.createElement("div"));
  box.setAttribute("class", "wide");
  box.setAttribute("tabindex", "0");
  const all = box.appendChild(make.createElement("table"));
  const row = (line, name, parent) => {
    const one = parent.appendChild(make.createElement("tr"));
    for (const cell of cells(line)) inline(cell, one.appendChild(make.createElement(name)), make, 0);
  };
  row(lines[at], "th", all.appendChild(make.createElement("thead")));
  const body = all.appendChild(make.createElement("tbody"));
  for (at += 2; at < lines.length && lines[at].trim() && lines[at].includes("|"); at += 1) row(lines[at], "td", body);
  return at;
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

// The marks within a line.
function inline(text, into, make, depth) {
  let plain = "";
  const flush = () => {
    if (plain) into.appendChild(make.createTextNode(plain));
    plain = "";
  };
  const add = (name) => {
    flush();
    return into.appendChild(make.createElement(name));
  };
  // Signs that nothing behind here closes: a text is not looked through for each of them.
  const open = new Set();
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const char = text[at];
    if (char === "\\" && /^\\[!-/:-@[-`{-~]/.test(rest)) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    if (char === "\n") {
      add("br");
      at += 1;
      continue;
    }
    if (char === "`") {
      const ticks = /^`+/.exec(rest)[0];
      const end = rest.indexOf(ticks, ticks.length);
      if (end > 0) {
        const code = rest.slice(ticks.length, end);
        add("code").textContent = code.startsWith(" ") && code.endsWith(" ") && code.trim() ? code.slice(1, -1) : code;
        at += end + ticks.length;
        continue;
      }
      plain += ticks;
      at += ticks.length;
      continue;
    }
    const link = char === "[" || rest.startsWith("![") ? ANCHOR.exec(rest) : null;
    if (link && depth < DEPTH) {
      anchor(link[2].replace(/\\(.)/g, "$1"), link[1], add, make, depth);
      at += link[0].length;
      continue;
    }
    const bare = (at === 0 || !/\w/.test(text[at - 1])) && /^<?(https?:\/\/[^\s<>"`]+|mailto:[^\s<>"`]+)>?/i.exec(rest);
    if (bare && (char !== "<" || bare[0].endsWith(">"))) {
      const target = char === "<" ? bare[1] : withoutEnd(bare[1]);
      anchor(target, null, add, make, depth);
      at += char === "<" ? bare[0].length : target.length;
      continue;
    }
    const mark = depth < DEPTH && MARKS.find(([sign]) => rest.startsWith(sign));
    const end = mark && !open.has(mark[0]) ? closing(text, at, mark[0], open) : -1;
    if (end > 0) {
      inline(text.slice(at + mark[0].length, end), add(mark[1]), make, depth + 1);
      at = end + mark[0].length;
      continue;
    }
    plain += char;
    at += 1;
  }
  flush();
}

// An address without the signs of the sentence around it.
function withoutEnd(target) {
  let end = target.length;
  while (end > 0 && ".,;:!?'*_~)]".includes(target[end - 1])) end -= 1;
  return target.slice(0, end);
}

// Where a mark ends; -1 when it is only a sign.
function closing(text, at, sign, open) {
  const inWord = (index) => /\w/.test(text[index] ?? "");
  if (/\s/.test(text[at + sign.length] ?? " ")) return -1;
  if (sign[0] === "_" && inWord(at - 1)) return -1;
  for (let end = at + sign.length + 1; end <= text.length - sign.length; end += 1) {
    if (text[end - 1] === "\\") continue;
    if (!text.startsWith(sign, end) || /\s/.test(text[end - 1])) continue;
    if (sign.length === 1 && (text[end + 1] === sign || text[end - 1] === sign)) continue;
    // Of a run of signs the last ones end it: the others belong to a mark within.
    while (sign.length > 1 && text.startsWith(sign, end + 1)) end += 1;
    if (sign[0] === "_" && inWord(end + sign.length)) continue;
    return end;
  }
  open.add(sign);
  return -1;
}

function anchor(target, label, add, make, depth) {
  if (!LINK.test(target)) {
    // Such as a file of the workspace, or something that would run: its words alone.
    inline(label || target, add("span"), make, DEPTH);
    return;
  }
  const link = add("a");
  link.setAttribute("href", target);
  link.setAttribute("rel", "noopener noreferrer");
  link.setAttribute("target", "_blank");
  if (label) inline(label, link, make, Math.max(depth + 1, DEPTH - 1));
  else link.textContent = target;
}
