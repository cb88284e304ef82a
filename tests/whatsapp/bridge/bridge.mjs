// The server of nanobot's bridge, as it is in its package, with a WhatsApp that remembers nothing in place of the real
// one: node bridge.mjs FOLDER TOKEN, where FOLDER has the package `ws` and nanobot's `server.ts`.
// It prints its port.

import { createServer } from "node:net";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const token = process.argv[3];
const { transpileModule } = createRequire(join(folder, "x.js"))("typescript");
const built = join(folder, "built");
mkdirSync(built, { recursive: true });
const source = readFileSync(join(folder, "server.ts"), "utf8");
const options = { compilerOptions: { module: "ES2022", target: "ES2022" } };
writeFileSync(join(built, "server.mjs"), transpileModule(source, options).outputText.replace("./whatsapp.js", "./whatsapp.mjs"));
writeFileSync(
  join(built, "whatsapp.mjs"),
  `export class WhatsAppClient {
    async connect() {}
    async disconnect() {}
    async sendMessage(to, text) {
      if (text === "offline") throw new Error("Connection Closed");
    }
  }`,
);
// Its log goes to standard error, so that the port is the first line.
console.log = console.error;
const { BridgeServer } = await import(pathToFileURL(join(built, "server.mjs")));
const probe = createServer().listen(0, "127.0.0.1", async () => {
  const { port } = probe.address();
  probe.close();
  await new BridgeServer(port, "nowhere", token).start();
  process.stdout.write(JSON.stringify({ port }) + "\n");
});
