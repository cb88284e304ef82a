// Asks the agent over HTTP with OpenAI's own package for Node: server.py starts it with the address, a token, and one whose
// agent has no model.

import assert from "node:assert/strict";
import OpenAI from "openai";

const [url, token, unlucky] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
const messages = [{ role: "user", content: "help" }];

const models = await client.models.list();
assert.equal(models.data[0].id, "main");

const whole = await client.chat.completions.create({ model: "main", messages });
const answer = whole.choices[0].message.content;
assert.ok(answer);
assert.equal(whole.choices[0].finish_reason, "stop");

let told = "";
for await (const chunk of await client.chat.completions.create({ model: "main", messages, stream: true })) {
  told += chunk.choices[0].delta.content ?? "";
}
assert.equal(told, answer);
const completion = await client.chat.completions.stream({ model: "main", messages }).finalChatCompletion();
assert.equal(completion.choices[0].message.content, answer);

const response = await client.responses.create({ model: "main", input: "help" });
assert.equal(response.output_text, answer);
assert.equal(response.status, "completed");

told = "";
const next = { model: "main", input: messages, previous_response_id: response.id };
for await (const event of await client.responses.create({ ...next, stream: true })) {
  if (event.type === "response.output_text.delta") told += event.delta;
}
assert.equal(told, answer);
const final = await client.responses.stream(next).finalResponse();
assert.equal(final.output_text, answer);

await assert.rejects(client.responses.create({ model: "main", input: "" }), OpenAI.BadRequestError);
const wrong = new OpenAI({ baseURL: `${url}/v1`, apiKey: "pcb_wrong", maxRetries: 0 });
await assert.rejects(wrong.models.list(), OpenAI.AuthenticationError);

const failing = new OpenAI({ baseURL: `${url}/v1`, apiKey: unlucky });
const isFailure = (error) => error instanceof OpenAI.InternalServerError && error.status === 502 && error.type === "server_error";
await assert.rejects(failing.chat.completions.create({ model: "main", messages }), isFailure);
await assert.rejects(failing.responses.create({ model: "main", input: "help" }), isFailure);
await assert.rejects(async () => {
  for await (const _ of await failing.chat.completions.create({ model: "main", messages, stream: true }));
}, OpenAI.APIError);
let last;
for await (const event of await failing.responses.create({ model: "main", input: "help", stream: true })) last = event;
assert.equal(last.type, "response.failed");
assert.equal(last.response.error.code, "server_error");
