// What Markdown becomes on the web page, and what nothing in it can become: node --test tests/page

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("../../src/channels/http/page/markdown.js", import.meta.url));
const { markdown } = await import("data:text/javascript;base64," + source.toString("base64"));

// As much of a document as is needed, which prints itself.
class Node {
  constructor(name, text = "") {
    Object.assign(this, { name, text, attributes: [], children: [] });
  }
  appendChild(child) {
    this.children.push(child);
    return child;
  }
  setAttribute(name, value) {
    this.attributes.push(`${name}=${value}`);
  }
  set textContent(text) {
    this.children = [new Node("", text)];
  }
  toString() {
    const inner = this.text + this.children.join("");
    if (!this.name) return inner;
    return `(${[this.name, ...this.attributes.filter((one) => !/^(rel|target)=/.test(one))].join(" ")}|${inner})`;
  }
}
const make = {
  createElement: (name) => new Node(name),
  createTextNode: (text) => new Node("", text),
  createDocumentFragment: () => new Node(""),
};
const shown = (text) => String(markdown(text, make));

test("marks, headings, rules and paragraphs", () => {
  assert.equal(shown("a **b _c_** d\nnext"), "(p|a (strong|b (em|c)) d(br|)next)");
  assert.equal(shown("# One\n\n---\n###### Six"), "(h3|One)(hr|)(h6|Six)");
  assert.equal(shown("snake_case_name 2 * 3 * 4 ~~no~~"), "(p|snake_case_name 2 * 3 * 4 (del|no))");
  assert.equal(shown("\\*not\\* `a*b` ``c`d``"), "(p|*not* (code|a*b) (code|c`d))");
  assert.equal(shown("***both***"), "(p|(strong|(em|both)))");
});

test("lists, also within each other, quotes and code", () => {
  assert.equal(shown("- a\n- b\n  - c\n- [x] d"), "(ul|(li|a)(li|(p|b)(ul|(li|c)))(li|☑ d))");
  assert.equal(shown("3. a\n4. b\n\nend"), "(ol start=3|(li|a)(li|b))(p|end)");
  assert.equal(shown("> a\n> - b"), "(blockquote|(p|a)(ul|(li|b)))");
  assert.equal(shown("```sh\n<b>\n  x\n```\ny"), "(pre|(code data-language=sh|<b>\n  x))(p|y)");
  assert.equal(shown("```\nopen"), "(pre|(code|open))");
});

test("tables", () => {
  assert.equal(
    shown("| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\nend"),
    "(div class=wide tabindex=0|(table|(thead|(tr|(th|a)(th|b)))(tbody|(tr|(td|1)(td|(code|x|y))))))(p|end)",
  );
});

test("links lead to http, https and mailto, and nowhere else", () => {
  assert.equal(shown("[a](https://x.y/z)"), "(p|(a href=https://x.y/z|a))");
  assert.equal(shown("see https://x.y/a_b_c. <mailto:a@b.c>"), "(p|see (a href=https://x.y/a_b_c|https://x.y/a_b_c). (a href=mailto:a@b.c|mailto:a@b.c))");
  for (const target of ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "vbscript:x", "//evil", "/page/me", "file:///etc/passwd"]) {
    assert.equal(shown(`[a](${target})`), "(p|(span|a))", target);
  }
  assert.ok(markdown("[a](http://x)", make).children[0].children[0].attributes.includes("rel=noopener noreferrer"));
});

test("nothing in a text becomes an element by itself", () => {
  for (const text of ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "&lt;b&gt;", "a <b>c</b>"]) {
    assert.equal(shown(text), `(p|${text})`);
  }
  assert.equal(shown("![x](javascript:a)"), "(p|(span|x))");
});

test("odd and huge texts end, and lose nothing", () => {
  const begun = Date.now();
  for (const part of ["*", "_", "`", "[", "> ", "- ", "**a", "[a](", "|", "\\", "1. ", "  - ", "```\n"]) {
    assert.ok(shown(part.repeat(2000)).length > 0);
    assert.ok(shown((part + "\n").repeat(500)).length > 0);
  }
  assert.ok(Date.now() - begun < 20000);
  assert.equal(shown(""), "");
});

test("a hostile line of any construct takes no longer than a long one", () => {
  const blank = " ".repeat(50_000);
  const lines = ["# " + blank + "x" + blank + "x", "# " + "#".repeat(100_000) + "x", "- " + blank + "x\u2028" + blank, "|a|\n" + blank + blank + "x-",
    "|a|\n" + "|-".repeat(50_000) + "x", "- ".repeat(50_000) + "x", "-" + blank + "-" + blank + "x", "` " + "a ".repeat(50_000) + "b`", "``" + "`".repeat(100_000),
    "`" + blank + blank + "x`", "[a](" + blank + blank, "[a](x" + blank + '"' + blank, "http://" + ")".repeat(100_000) + "x", "mailto:a" + ".".repeat(100_000) + "x", "```" + blank + blank + "\u2028"];
  for (const part of ["[", "![", "[a](", "[a](b(", "[a](x ", "[\\", "*", "**", "**a", "*a ", "_a ", " __a", "~~a", "`", "` ", "``a`", "<http://", "http://a)", "\\", "|", "> ", "#", "- ", "1. ", "***a* ", "**a*b "]) {
    lines.push(part.repeat(Math.ceil(100_000 / part.length)), part.repeat(Math.ceil(100_000 / part.length)) + "\nx", "# " + part.repeat(Math.ceil(100_000 / part.length)));
  }
  for (const line of lines) {
    const begun = Date.now();
    shown(line);
    assert.ok(Date.now() - begun < 5000, `${line.slice(0, 20)}: ${Date.now() - begun} ms`);
  }
  assert.equal(shown("## C# ##\n# #\n# a#"), "(h4|C#)(h3|)(h3|a#)");
});
