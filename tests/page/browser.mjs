// Has a real browser use the web page of a real gateway: make web
//
//   node tests/page/browser.mjs FOLDER-OF-NPM SCREENSHOTS COMMAND...
//
// COMMAND serves the page (tests/program/http/stage.rs). Between the browser and the gateway is a proxy that can cut the network.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const [folder, screenshots, ...command] = process.argv.slice(2);
const others = resolve(folder, "screens");
const need = createRequire(resolve(folder, "node_modules") + "/");
const { chromium } = need("playwright-core");
const axe = need.resolve("axe-core/axe.min.js");
// The screenshots that are in the documents; the others are for those who look for a fault.
const DOCUMENTED = ["chat", "board", "files"];
// The page as phones and as computers show it.
const WIDTHS = [390, 1280];
const PATIENCE = 60000;
const LANGUAGES = ["de", "es", "fr", "ja", "pt", "zh"];
const WHEN = ["11/29/26", "8:15 PM"];

const stage = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: stage.stdout })[Symbol.asyncIterator]();

async function heard() {
  for (;;) {
    const { value, done } = await lines.next();
    assert.ok(!done, "the gateway has ended");
    const start = value.indexOf("{");
    if (start >= 0) return JSON.parse(value.slice(start));
  }
}

async function ask(line) {
  stage.stdin.write(line + "\n");
  return (await heard()).done;
}

// The cost of 30 days, the last one the highest.
function costs() {
  const day = (index) => new Date(Date.UTC(2026, 10, index + 1)).toISOString().slice(0, 10);
  return Array.from({ length: 30 }, (_, index) => ({ day: day(index), cost: index * 0.05, tokens: index * 1000 }));
}

// A network that can be cut.
function network(address) {
  const [host, port] = address.split(":");
  const sockets = new Set();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const gateway = connect(Number(port), host);
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    client.pipe(gateway).pipe(client);
    client.on("close", () => gateway.destroy());
    gateway.on("close", () => client.destroy());
  });
  const cut = (now) => {
    isCut = now;
    if (now) for (const socket of sockets) socket.destroy();
  };
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ server, cut, url: `http://127.0.0.1:${server.address().port}` })));
}

const { address } = await heard();
const { server, cut, url } = await network(address);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: WIDTHS[1], height: 800 }, reducedMotion: "reduce", locale: "en" });
context.setDefaultTimeout(PATIENCE);
const complaints = [];

function watch(page) {
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isOfNetwork = /Failed to load resource|ERR_/.test(message.text());
    if (message.type() === "error" && !isOfNetwork) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) complaints.push(`a request to ${request.url()}`);
  });
  return page;
}

async function check(page, name) {
  // The tool itself is not of the page, whose policy would refuse it as an element.
  await page.evaluate(`${(await import("node:fs")).readFileSync(axe, "utf8")};0`);
  const { violations } = await page.evaluate("axe.run()");
  const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), [], name);
  const place = DOCUMENTED.includes(name) ? screenshots : others;
  mkdirSync(place, { recursive: true });
  // The same picture at any time of the day.
  await page.evaluate(([day, time]) => document.querySelectorAll("time").forEach((one) => {
    one.textContent = /[/.]/.test(one.textContent) ? `${day}, ${time}` : time;
  }), WHEN);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await cutOff(page), [], `${name} at ${width}`);
    await page.screenshot({ path: `${place}/${name}-${width}.png` });
  }
}

// What can be read only by scrolling sideways. Code and drawings may be wider.
function cutOff(page) {
  return page.evaluate(() => [document.documentElement, ...document.querySelectorAll("nav ul, .wide, header")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${one.localName}.${one.className}: ${one.textContent}`));
}

async function send(page, text) {
  await page.getByLabel("Message").fill(text);
  await page.keyboard.press("Enter");
}

// A board that has been up for a day.
function example() {
  const now = 1800000000;
  const curve = (name, unit, value) => ({
    name, unit, points: Array.from({ length: 288 }, (_, at) => [now - (287 - at) * 300, at > 200 && at < 206 ? null : value(at)]),
  });
  return {
    now,
    status: "**Raspberry Pi 4 Model B**, up 12 d 4 h\n\n- Temperature: 51.1 °C\n- Load: 0.42, 0.38, 0.31 over 1, 5, 15 minutes, 4 processors\n" +
      "- Memory: 2.9 GB free of 3.9 GB (26 % used)\n- Disk: 21.4 GB free of 31.0 GB (31 % used)",
    curves: [
      curve("temperature", "°C", (at) => 50 + 6 * Math.sin(at / 46) + Math.sin(at / 3)),
      curve("load", "", (at) => 0.4 + 0.3 * Math.abs(Math.sin(at / 17)) ** 9),
      curve("memory", "%", (at) => 24 + at / 90 + Math.sin(at / 9)),
      curve("disk", "%", (at) => 30.5 + at / 400),
    ],
  };
}

const step = (name) => console.log(`page: ${name}`);
try {
  step("sign in by a link, once");
  const page = watch(await context.newPage());
  await page.goto(url);
  await page.getByText("You are not signed in").waitFor();
  const secret = await ask("link");
  await page.goto(`${url}/sign-in#${secret}`);
  await page.reload();
  const button = page.getByRole("button", { name: "Sign in" });
  await button.waitFor();
  await check(page, "sign-in");
  await button.press("Enter");
  await page.getByText("Nothing has been said here yet").waitFor();
  const other = watch(await (await browser.newContext()).newPage());
  await other.goto(`${url}/sign-in#${secret}`);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByText("This link has been used").waitFor();
  await other.context().close();

  step("ask, and watch the answer grow, in two tabs");
  const second = watch(await context.newPage());
  await second.goto(url);
  await send(page, "count");
  const draft = page.locator(".draft");
  await draft.getByText("one two").waitFor();
  assert.ok(!(await draft.textContent()).includes("nine"));
  await second.locator(".draft").getByText("one two").waitFor();
  await ask("open");
  for (const tab of [page, second]) await tab.locator(".message.bot:not(.draft)").getByText("nine ten").waitFor();
  assert.equal(await page.locator(".message.you").count(), 1);

  step("Markdown, in which nothing runs");
  await send(page, "what runs?");
  await page.getByRole("cell", { name: "12 MB" }).waitFor();
  assert.equal(await page.locator(".message img").count(), 0);
  assert.equal(await page.getByRole("link", { name: "documented" }).getAttribute("rel"), "noopener noreferrer");
  await check(page, "chat");

  step("approve");
  await send(page, "run it");
  await page.getByRole("button", { name: "Run once" }).waitFor();
  await check(page, "approval");
  await page.getByRole("button", { name: "Run once" }).click();
  await page.getByText("It ran outside the sandbox").waitFor();
  assert.equal(await page.getByRole("button", { name: "Run once" }).count(), 0);

  step("cut the network during an answer, and come back");
  await send(page, "count again");
  await draft.getByText("one two").waitFor();
  cut(true);
  await ask("open");
  await page.locator("body.offline").waitFor();
  cut(false);
  await page.locator(".message.bot:not(.draft)").getByText("nine ten").nth(1).waitFor();

  step("files along with a message, and in the workspace");
  const file = { name: "milk.txt", mimeType: "text/plain", buffer: Buffer.from("milk") };
  await page.locator("#picker").setInputFiles(file);
  await page.getByRole("button", { name: "Remove milk.txt" }).waitFor();
  await send(page, "look at this");
  await page.locator(".message.you").getByText("[milk.txt]").waitFor();
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByRole("link", { name: "notes.txt" }).waitFor();
  await page.locator("#upload").setInputFiles(file);
  await page.getByRole("link", { name: "milk.txt" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "milk.txt" }).click()]);
  assert.equal(download.suggestedFilename(), "milk.txt");

  step("the board, with a plot that shows values and zooms, and all else");
  await page.getByRole("link", { name: "Board" }).click();
  const plot = page.getByRole("img").first();
  await plot.waitFor();
  await plot.focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator(".plot .mark").first().waitFor({ state: "attached" });
  // From here on the board is one of the pictures, and not the machine on which they are taken.
  await page.route("**/page/board/*", (route) => route.fulfill({ json: example() }));
  for (const name of ["Work", "Board", "Audit log", "Settings"]) {
    await page.setViewportSize({ width: WIDTHS[1], height: 800 });
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, exact: true }).waitFor();
    await page.waitForLoadState("networkidle");
    await check(page, name.toLowerCase().split(" ")[0]);
  }
  await page.getByRole("searchbox").fill("http.listen");
  await page.getByText("Now:").first().waitFor();
  await page.setViewportSize({ width: WIDTHS[1], height: 800 });
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByRole("link", { name: "notes.txt" }).waitFor();
  await check(page, "files");

  step("what each day cost");
  await page.route("**/page/usage", (route) => route.fulfill({ json: costs() }));
  await page.getByRole("link", { name: "Work", exact: true }).click();
  const bars = page.getByRole("img", { name: "By day, at most $1.45" });
  await bars.focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator(".plot .mark").getByText("$1.45").waitFor({ state: "attached" });
  assert.equal(await page.locator(".plot .bar").count(), 30);
  await check(page, "costs");

  step("on a phone, in each language");
  for (const language of LANGUAGES) {
    const phone = await browser.newContext({ viewport: { width: WIDTHS[0], height: 800 }, locale: language });
    const there = watch(await phone.newPage());
    await there.goto(`${url}/sign-in#${await ask(`link ${language}`)}`);
    await there.getByRole("button").click();
    await there.getByRole("log").waitFor();
    assert.ok((await there.locator("html").getAttribute("lang")).startsWith(language));
    for (const part of ["chat", "board", "work", "files", "audit", "settings"]) {
      await there.goto(`${url}/#${part}`);
      await there.locator(`nav a[aria-current][href="#${part}"]`).waitFor();
      await there.waitForLoadState("networkidle");
      await there.screenshot({ path: `${others}/${language}-${part}.png` });
      assert.deepEqual(await cutOff(there), [], `${part} in ${language}`);
    }
    await phone.close();
  }

  step("by keyboard, and in the dark");
  await page.goto(url);
  await page.getByRole("log").waitFor();
  const focused = [];
  for (const key of ["Tab", "Tab"]) {
    await page.keyboard.press(key);
    focused.push(await page.evaluate("document.activeElement.id || document.activeElement.textContent"));
  }
  assert.deepEqual(focused, ["picker", "Send"]);
  await page.locator("#skip").focus();
  assert.ok((await page.locator("#skip").boundingBox()).x >= 0, "shown once it has the focus");
  await page.emulateMedia({ colorScheme: "dark" });
  await check(page, "dark");

  step("sign out");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are not signed in").waitFor();
  assert.deepEqual(complaints, []);
  console.log("page: all of it works");
} catch (error) {
  for (const page of context.pages()) await page.screenshot({ path: `${others}/failed.png` }).catch(() => {});
  console.error(complaints.join("\n"));
  throw error;
} finally {
  await browser.close();
  server.close();
  cut(true);
  stage.stdin.end();
}
