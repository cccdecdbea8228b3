import { expect, onTestFinished, test } from "vitest";
import { callStream, createGrpcClient } from "../../../src/client/remote/grpc-client.ts";
import { callRemoteFunction } from "../../../src/client/remote/remote-functions.ts";
import { decodeStatusDetails } from "../../../src/grpc/grpc-status.ts";
import { RAW_BODY } from "../../../src/pipeline/infer-request.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import {
  decodePart,
  encodeCallJob,
  functionPath,
  partFields,
} from "../../../src/protocols/functions/function-messages.ts";
import { decodeMessage, encodeAs } from "../../../src/tensor/codecs/protobuf/proto-messages.ts";
import { encodeMessage } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { textHooks } from "../openai/text-hooks.ts";

const serve = shareServer(() => ({
  models: {
    talk: { stages: [{ driver: "null" }], hooks: textHooks() },
    plain: { stages: [{ driver: "null" }] },
  },
}));

interface Call {
  readonly model?: string;
  readonly name?: string;
  readonly facts?: Record<string, string>;
  readonly body?: unknown;
  /** Bytes in place of all these. */
  readonly raw?: Buffer;
}

/** The parts of an answer to a call that a client of gRPC has written by itself. */
async function call({ model = "talk", name = "chat", facts = {}, body = {}, raw }: Call) {
  const client = createGrpcClient((await serve()).grpcAddress, { maxMessageBytes: 2 ** 28 });
  onTestFinished(() => client.close());
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const message = raw ?? (await encodeCallJob.run({ model, name, facts }, bytes));
  const given = { message, call: { metadata: {}, signal: new CancelSource() } };
  const parts = [];
  for await (const part of callStream(client, functionPath("CallFunction"), given))
    parts.push(decodePart(part.message));
  return parts.map(({ body: made, ...told }) => ({ ...told, text: Buffer.from(made).toString() }));
}

const REST = { tools: [], stop: [], more: {}, responseFormat: { type: "text" } };
const message = (content: unknown, more: object = {}) => ({ role: "user", content, toolCalls: [], ...more });
const chat = (...messages: readonly unknown[]) => ({ ...REST, messages });
const text = (words: string) => [{ type: "text", text: words }];

test("a function is called with its request, and gives its parts, the first one with its version and headers", async () => {
  const [first, ...rest] = await call({ body: chat(message(text("one two"))) });
  const head = { model: "talk", version: 1n, contentType: "application/x-ndjson", isWhole: false };
  expect(first).toMatchObject({ ...head, headers: { "x-own": "yes" }, text: '{"text":"one "}' });
  expect(rest.map((part) => [part.contentType, part.text.slice(0, 9)])).toEqual([
    ["", '{"text":"'],
    ["", '{"usage":'],
  ]);
  const [whole] = await call({ name: "rerank", body: { query: "a", documents: ["a"], more: {} } });
  expect(whole).toMatchObject({ isWhole: true, contentType: "application/octet-stream" });
});

test("an error behind the first part is the last message", async () => {
  const parts = await call({ body: chat(message(text("late"))) });
  const error = { status: 13, message: expect.any(String), details: expect.objectContaining({ length: 0 }) };
  expect(parts.map((part) => part.error)).toEqual([undefined, error]);
});

test("an error behind the first part keeps its details for programs", async () => {
  const [, late] = await call({ body: chat(message(text("later"))) });
  expect(late?.error).toMatchObject({ status: 14, message: "no words now" });
  expect(decodeStatusDetails(late?.error?.details ?? Buffer.alloc(0))).toEqual(NOW);
  const client = createGrpcClient((await serve()).grpcAddress, { maxMessageBytes: 2 ** 28 });
  onTestFinished(() => client.close());
  const body = Buffer.from(JSON.stringify(chat(message(text("later")))));
  const inputs = { kind: "tensors", tensors: { [RAW_BODY]: createTensor("uint8", [body.length], body) } } as const;
  const given = { id: "1", metadata: {}, signal: new CancelSource() };
  const request = { signature: { name: "" }, inputs, call: given, parts: { write: async () => {} } };
  const asked = { ref: { model: "talk" }, request, raw: { entry: "chat", facts: {} } };
  await expect(callRemoteFunction(client, asked as never)).rejects.toMatchObject({ code: "unavailable", details: NOW });
});

const NOW = [{ type: "type.example/Now", value: "CgFh" }];

const FETCHED = JSON.stringify({ requestBytes: 10, media: [{ mediaType: "image/png", bytes: 3 }] });
const WRONG: readonly (readonly [Call, string, string])[] = [
  [{ name: "predict" }, "invalid_argument", "There is no function predict; expected chat, complete"],
  [{ name: "POST /score" }, "invalid_argument", "There is no function POST /score"],
  [{ body: "{" }, "invalid_argument", "body is not JSON"],
  [{ body: [] }, "invalid_argument", "body is an array; expected a JSON object"],
  [{ body: chat() }, "invalid_argument", "body.messages is empty"],
  [{ body: chat(7) }, "invalid_argument", "body.messages[0] is 7; expected an object"],
  [
    { body: chat(message([], { reasoning: 5 })) },
    "invalid_argument",
    "body.messages[0].reasoning is 5; expected a text",
  ],
  [{ body: chat(message("hi")) }, "invalid_argument", "body.messages[0].content is a string; expected a list"],
  [{ body: chat(message([], { role: "root" })) }, "invalid_argument", "body.messages[0].role"],
  [{ body: chat(message([{ type: "video" }])) }, "invalid_argument", "content[0].type"],
  [{ body: chat(message([{ type: "image", mediaType: "a/b" }])) }, "invalid_argument", "content[0].base64"],
  [{ body: { ...chat(message([])), stop: "." } }, "invalid_argument", "body.stop is a string; expected a list"],
  [{ body: chat(message(text("x".repeat(200_000)), { role: 7 })) }, "invalid_argument", "body.messages[0].role"],
  [{ facts: { request: "{}" } }, "invalid_argument", "facts.request is a fact; expected fetched, choice"],
  [{ facts: { choice: "-1" } }, "invalid_argument", "facts.choice is -1"],
  [{ facts: { fetched: FETCHED }, body: "{}" }, "invalid_argument", "body is 2 bytes; expected 13"],
  [{ facts: { fetched: "{}" }, body: "{}" }, "invalid_argument", "facts.fetched.requestBytes is undefined"],
  [{ name: "embed", body: { texts: [], more: {} } }, "invalid_argument", "body.texts is empty"],
  [{ name: "transcribe", body: "" }, "invalid_argument", "body is empty; expected the bytes of a sound"],
  [{ name: "transcribe", body: "RIFF" }, "invalid_argument", "facts.request is empty"],
  [{ name: "generateImage", body: { prompt: "a", count: 0, more: {} } }, "invalid_argument", "body.count"],
  [{ name: "speak", body: { text: "a", format: "wav", more: {} } }, "not_found", "The model talk does not answer this"],
  [{ model: "plain", body: chat(message([])) }, "not_found", "The model plain does not answer this"],
  [{ model: "tlk", body: chat(message([])) }, "not_found", "Request for unknown model: 'tlk'"],
];

/** An entry of facts without a name and a value. */
const NO_FACT = "1a00";
const deep = (levels: number) => `{"more":${"[".repeat(levels)}${"]".repeat(levels)}}`;
const address = { type: "image", url: "https://a.example/b.png" };
const picture = { type: "image", mediaType: "image/png", base64: "AAAA" };
const MANY: readonly (readonly [name: string, Call, told: string])[] = [
  ["facts", { raw: Buffer.from(NO_FACT.repeat(9), "hex") }, "it has more than 8 facts"],
  ["facts in a large message", { raw: Buffer.from(NO_FACT.repeat(100_000), "hex") }, "it has more than 8 facts"],
  ["fields", { raw: Buffer.from("f80600".repeat(9000), "hex") }, "it has more than 8192 fields"],
  ["groups", { raw: Buffer.from("fb0600fc06", "hex") }, "field 111 is a group"],
  ["bytes of a name", { model: "m".repeat(70_000) }, "a text has 70000 bytes, 65536 at most are read"],
  ["levels", { body: deep(1001) }, "nested more than 1000 levels"],
  ["members", { body: `{"more":{${'"a":0,'.repeat(300_000)}"b":0}}` }, "members; send less"],
  ["stops", { body: { ...chat(message([])), stop: Array(65).fill("a") } }, "body.stop is a list of 65 items"],
  ["texts", { name: "embed", body: { texts: Array(2049).fill("a"), more: {} } }, "body.texts is a list of 2049 texts"],
  ["pictures", { name: "generateImage", body: { prompt: "a", count: 1e15, more: {} } }, "whole number from 1 to 10"],
  ["bytes of no image", { body: chat(message([picture])) }, "content[0].base64 is no image"],
  ["addresses", { body: chat(message([address])) }, "facts.fetched is about 0 files; expected 1"],
  ["seed", { body: { ...chat(message([])), seed: "1" } }, "body.seed is a string; expected a whole number"],
  [
    "temperature",
    { body: JSON.stringify(chat(message([]))).replace("{", '{"temperature":1e999,') },
    "a number from 0 on",
  ],
  ["maxTokens", { body: { ...chat(message([])), maxTokens: 0.5 } }, "body.maxTokens is 0.5"],
];

test.each(MANY)("a call with too many, or wrong, %s is refused as over the other protocols", async (_, given, told) => {
  await expect(call(given)).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining(told) });
});

test("a file that was fetched is what its first bytes say", async () => {
  const request = JSON.stringify(chat(message([address])));
  const media = (mediaType: string) => [{ mediaType, bytes: 8 }];
  const send = (mediaType: string, file: string) => {
    const facts = { fetched: JSON.stringify({ requestBytes: request.length, media: media(mediaType) }) };
    return call({ facts, body: request + file });
  };
  // The first bytes of GIF are text.
  expect(await send("image/gif", "GIF89a..")).not.toEqual([]);
  await expect(send("image/png", "GIF89a..")).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(send("image/gif", "GIX89a..")).rejects.toMatchObject({ code: "invalid_argument" });
});

test.each(WRONG)("the call %j is refused with %s: %s", async (given, code, told) => {
  await expect(call(given)).rejects.toMatchObject({ code, message: expect.stringContaining(told) });
});

test("models are listed with their functions, all or one, and one that is not there is none", async () => {
  const client = createGrpcClient((await serve()).grpcAddress, { maxMessageBytes: 2 ** 28 });
  onTestFinished(() => client.close());
  const list = (model: string) =>
    new Promise<unknown>((resolve, reject) => {
      const asIs = (bytes: Buffer) => bytes;
      const asked = encodeAs("kserving.ListModelsRequest", { model });
      client.makeUnaryRequest(functionPath("ListModels"), asIs, asIs, asked, (reason, answer) => {
        if (reason === null && answer !== undefined)
          resolve(decodeMessage("kserving.ListModelsResponse", answer).models);
        else reject(reason);
      });
    });
  const talk = { name: "talk", facts: { functions: ["chat", "complete", "embed", "rerank"], drivers: ["null"] } };
  expect(await list("talk")).toMatchObject([talk]);
  expect(await list("")).toMatchObject([talk, { name: "plain", facts: { functions: [] } }]);
  await expect(list("tlk")).rejects.toThrow("NOT_FOUND");
});

test("details of an error that are longer than a text may be are left out", () => {
  const errorOf = (length: number) => {
    const error = { status: 3, message: "no", details: new Uint8Array(length).fill(1) };
    return decodePart(encodeMessage(partFields({ error }))).error;
  };
  expect(errorOf(65_536)?.details.length).toBe(65_536);
  expect(errorOf(65_537)).toMatchObject({ status: 3, message: "no", details: new Uint8Array(0) });
});
