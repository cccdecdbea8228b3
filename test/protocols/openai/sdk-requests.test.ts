import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { textHooks } from "./text-hooks.ts";

/** A request as an SDK has sent it to a server with {@link textHooks}, and the media type of the answer. */
interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly type: string;
}

const REQUESTS: readonly SdkRequest[] = JSON.parse(readFileSync("test/fixtures/text/sdk-requests.json", "utf8"));

const serve = shareServer(() => ({ stages: [{ driver: "null" }], hooks: textHooks() }));

/** The objects of an answer: all of it, or those of its events or lines. */
function objectsOf(text: string, type: string) {
  if (type === "application/json") return [JSON.parse(text)];
  if (type === "application/x-ndjson")
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [line.slice(6)] : []));
  return data.map((each) => JSON.parse(each));
}

const SOME = expect.arrayContaining([expect.any(Object)]);
/** The last object of each dialect's answers, and the first one if they come in parts. */
const ANSWERS: Readonly<
  Record<string, { readonly last: object; readonly first?: object; readonly lastPart?: object }>
> = {
  "/v1/messages": {
    last: { type: "message", role: "assistant", content: SOME, usage: {} },
    first: { type: "message_start", message: { role: "assistant", content: [] } },
    lastPart: { type: "message_stop" },
  },
  "/v1/responses": {
    last: { object: "response", output: SOME, usage: {}, error: null },
    first: { type: "response.created", response: { object: "response", output: [] } },
    lastPart: { type: "response.completed", response: { output: SOME, usage: {} } },
  },
  "/v1/chat/completions": {
    last: { object: "chat.completion", choices: [{ message: { role: "assistant" } }], usage: {} },
    first: { object: "chat.completion.chunk", choices: [{ delta: { role: "assistant" } }] },
    lastPart: { object: "chat.completion.chunk", choices: [{ finish_reason: "stop" }] },
  },
  "/api/chat": {
    last: { model: "default", message: { role: "assistant" }, done: true },
    first: { message: { role: "assistant" }, done: false },
  },
  "/api/generate": { last: { model: "default", done: true }, first: { response: expect.any(String), done: false } },
  "/api/embed": { last: { embeddings: [[1], [1]].map(() => expect.any(Array)) } },
  "/api/embeddings": { last: { embedding: [1, expect.any(Number), -2.5] } },
  "/api/ps": { last: { models: [{ name: "default:latest" }] } },
  "/api/tags": { last: { models: [{ name: "default:latest" }] } },
  "/api/show": { last: { capabilities: expect.arrayContaining(["completion"]) } },
  "/api/version": { last: { version: expect.any(String) } },
  "/v1/models": { last: { data: [{ type: "model", id: "default" }], has_more: false } },
};

it("has requests of the SDKs of each protocol, whole and in parts", () => {
  const paths = new Set(REQUESTS.map(({ path, body }) => `${path} ${Object(body).stream ?? false}`));
  for (const path of ["/api/chat", "/api/generate", "/v1/messages", "/v1/responses"])
    expect([...paths]).toEqual(expect.arrayContaining([`${path} false`, `${path} true`]));
});

it.each(
  REQUESTS.map((request, index) => [`${index} ${request.headers["user-agent"]} ${request.path}`, request] as const),
)("answers %s", async (_, { method, path, headers, body, type }) => {
  const { httpUrl } = await serve();
  const answer = await fetch(httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  expect([answer.status, answer.headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
  const objects = objectsOf(await answer.text(), type);
  const { last, first, lastPart = last } = ANSWERS[path.split("?")[0]!]!;
  const isWhole = type === "application/json";
  if (!isWhole) expect(objects[0]).toMatchObject(first!);
  expect(objects.at(-1)).toMatchObject(isWhole ? last : lastPart);
});

it("ends the generator when a client leaves the stream of any of them", async () => {
  const { httpUrl } = await serve();
  const messages = [{ role: "user", content: "endless" }];
  const state = async () => {
    const body = JSON.stringify({ stream: false, messages: [{ role: "user", content: "state" }] });
    const answer = await fetch(`${httpUrl}/api/chat`, { method: "POST", body });
    return JSON.parse(JSON.parse(await answer.text()).message.content).ended;
  };
  for (const [index, [path, body]] of Object.entries({
    "/v1/responses": { input: "endless" },
    "/v1/messages": { messages },
    "/api/chat": { messages },
    "/api/generate": { prompt: "endless" },
  }).entries()) {
    const reader = await postForParts(httpUrl + path, { ...body, stream: true });
    expect(await reader.next("word ")).toBeDefined();
    reader.leave();
    await expect.poll(state).toBe(index + 1);
  }
});
