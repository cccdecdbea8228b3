import { expect, onTestFinished, test } from "vitest";
import { callStream, createGrpcClient } from "../../../src/client/remote/grpc-client.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { decodePart, encodeCallJob, functionPath } from "../../../src/protocols/functions/function-messages.ts";
import { decodeMessage, encodeAs } from "../../../src/tensor/codecs/protobuf/proto-messages.ts";
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
}

/** The parts of an answer to a call that a client of gRPC has written by itself. */
async function call({ model = "talk", name = "chat", facts = {}, body = {} }: Call) {
  const client = createGrpcClient((await serve()).grpcAddress, { maxMessageBytes: 2 ** 28 });
  onTestFinished(() => client.close());
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const message = await encodeCallJob.run({ model, name, facts }, bytes);
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
  expect(parts.map(({ error }) => error)).toEqual([undefined, { status: 13, message: expect.any(String) }]);
});

const FETCHED = JSON.stringify({ requestBytes: 10, media: [{ mediaType: "image/png", bytes: 3 }] });
const WRONG: readonly (readonly [Call, string, string])[] = [
  [{ name: "predict" }, "invalid_argument", "There is no function predict; expected chat, complete"],
  [{ name: "POST /score" }, "invalid_argument", "There is no function POST /score"],
  [{ body: "{" }, "invalid_argument", "body is no JSON"],
  [{ body: [] }, "invalid_argument", "body is an array; expected an object"],
  [{ body: chat() }, "invalid_argument", "body.messages is empty"],
  [{ body: chat(7) }, "invalid_argument", "body.messages[0] is a number; expected an object"],
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
  [{ name: "transcribe", body: "RIFF" }, "invalid_argument", "facts.request is no JSON"],
  [{ name: "generateImage", body: { prompt: "a", count: 0, more: {} } }, "invalid_argument", "body.count"],
  [{ name: "speak", body: { text: "a", format: "wav", more: {} } }, "not_found", "The model talk does not answer this"],
  [{ model: "plain", body: chat(message([])) }, "not_found", "The model plain does not answer this"],
  [{ model: "tlk", body: chat(message([])) }, "not_found", "Request for unknown model: 'tlk'"],
];

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
