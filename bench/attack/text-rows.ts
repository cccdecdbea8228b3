import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { bodyRow, type HostileBody } from "./body-row.ts";
import { ask, headOf, openSocket } from "./http-attack.ts";
import { repeated } from "./protobuf.ts";

const MB = 1024 * 1024;
const CHAT = "/v1/chat/completions";
const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const MULTIPART = { "content-type": "multipart/form-data; boundary=b" };

/** A conversation whose answer is its last text. */
function talk(text: string, more: object = {}): object {
  return { model: "talk", messages: [{ role: "user", content: text }], ...more };
}

/** A body of which one value is `unit`, so many times. */
function long(before: string, unit: string, count: number, after: string): Buffer {
  return Buffer.concat([Buffer.from(before), repeated(unit, count), Buffer.from(after)]);
}

/** A body of JSON with a list of so many units. */
function many(before: string, unit: string, count: number, after: string): Buffer {
  return Buffer.concat([Buffer.from(before), repeated(`${unit},`, count).subarray(0, -1), Buffer.from(after)]);
}

/** So many different members. */
function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":1`).join(",");
}

function nested(depth: number, inner: object): object {
  let schema = inner;
  for (let level = 0; level < depth; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

/** The answer is checked against it. */
function withSchema(text: string, schema: object): object {
  return talk(text, { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } } });
}

const TEXTS: Readonly<Record<string, string>> = {
  escapes: "\u0001",
  surrogates: "\ud800",
  emoji: "😀",
};

const TALK = '{"model":"talk","messages":[{"role":"user","content":';

const CHATS: Readonly<Record<string, () => Buffer | object>> = {
  "text-50mb": () => long(`${TALK}"`, "a", 50 * MB, '"}]}'),
  "many-messages": () => many('{"model":"talk","messages":[', '{"role":"user","content":"a"}', 100_000, "]}"),
  "many-parts": () => many(`${TALK}[`, '{"type":"text","text":"a"}', 1_000_000, "]}]}"),
  "many-pictures": () => many(`${TALK}[`, picture("iVBORw0KGgo="), 4096, "]}]}"),
  "lying-picture": () => many(`${TALK}[`, picture(repeated("QUJD", 5_000_000).toString()), 1, "]}]}"),
  "bad-base64": () => many(`${TALK}[`, picture(`${"A".repeat(20_000_000)}!`), 1, "]}]}"),
  "padded-base64": () => many(`${TALK}[`, picture("=".repeat(20_000_000)), 1, "]}]}"),
  "lying-sound": () =>
    many(
      `${TALK}[`,
      `{"type":"input_audio","input_audio":{"data":"${"UklGRg".repeat(MB)}","format":"wav"}}`,
      1,
      "]}]}",
    ),
  "large-tools": () =>
    talk("a", {
      tools: [{ type: "function", function: { name: "f", parameters: { description: "a".repeat(10 * MB) } } }],
    }),
  "many-tools": () =>
    talk("a", { tools: Array(4096).fill({ type: "function", function: { name: "f", parameters: {} } }) }),
  "many-stops": () => talk("a", { stop: Array(1_000_000).fill("a") }),
  "long-stops": () => talk("a", { stop: Array(64).fill("a".repeat(500_000)) }),
  metadata: () => Buffer.from(`${TALK}"a"}],"metadata":{${members(1_000_000)}}}`),
  "logit-bias": () => Buffer.from(`${TALK}"a"}],"logit_bias":{${members(60_000)}}}`),
  members: () => Buffer.from(`${TALK}"a"}],${members(1_000_000)}}`),
  "long-model": () => talk("a", { model: "m".repeat(10 * MB) }),
  "deep-schema": () => withSchema(`${'{"a":'.repeat(300)}1${"}".repeat(300)}`, nested(300, {})),
  "circle-schema": () => withSchema("[[[[[[1]]]]]]", { anyOf: Array(100).fill({ $ref: "#" }), items: { $ref: "#" } }),
  "wide-schema": () => withSchema(`[${"1,".repeat(100_000)}1]`, { items: { enum: Array(10_000).fill(2) } }),
  "pattern-schema": () => withSchema(`"${"a".repeat(200_000)}!"`, { type: "string", pattern: "^(a+)+$" }),
  "pointer-schema": () => withSchema("1", { anyOf: Array(60).fill({ $ref: `#${"/~1".repeat(300)}` }) }),
};

function picture(base64: string): string {
  return `{"type":"image_url","image_url":{"url":"data:image/png;base64,${base64}"}}`;
}

/** Whole answers that are nearly as long as they may be, streams, and long prompts that come back. */
function echoes(): HostileBody[] {
  return Object.entries(TEXTS).flatMap(([name, unit]) => {
    const text = unit.repeat((4 * MB) / unit.length);
    const prompt = text.slice(0, 300_000);
    return [
      { name: `whole-${name}`, path: CHAT, body: () => talk(text), times: 1 },
      { name: `stream-${name}`, path: CHAT, body: () => talk(text.slice(0, 2 * MB), { stream: true }), times: 1 },
      { name: `echo-${name}`, path: "/v1/completions", body: () => ({ model: "talk", prompt, echo: true }) },
    ];
  });
}

const OTHERS: readonly HostileBody[] = [
  {
    name: "prompt-tokens",
    path: "/v1/completions",
    body: () => many('{"model":"talk","prompt":[', "7", 10_000_000, "]}"),
  },
  {
    name: "responses-items",
    path: "/v1/responses",
    body: () => many('{"model":"talk","input":[', '{"role":"user","content":"a"}', 100_000, "]}"),
  },
  {
    name: "responses-calls",
    path: "/v1/responses",
    body: () =>
      many(
        '{"model":"talk","input":[',
        '{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}',
        4096,
        "]}",
      ),
  },
  {
    name: "responses-told",
    path: "/v1/responses",
    body: () => ({ model: "talk", input: "a", stream: true, metadata: { a: "b".repeat(60_000) } }),
    times: 20,
  },
  {
    name: "responses-repeated",
    path: "/v1/responses",
    body: () => ({ model: "talk", input: "\u0001".repeat(MB), stream: true }),
    times: 1,
  },
  {
    name: "messages-blocks",
    path: "/v1/messages",
    body: () =>
      many('{"model":"talk","max_tokens":1,"messages":[{"role":"user","content":[', toolResult(), 4096, "]}]}"),
  },
  {
    name: "messages-input",
    path: "/v1/messages",
    body: () =>
      long(
        '{"model":"talk","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":',
        '{"a":',
        900,
        `1${"}".repeat(900)}}]}]}`,
      ),
  },
  {
    name: "ollama-options",
    path: "/api/generate",
    body: () => Buffer.from(`{"model":"talk","prompt":"a","stream":false,"options":{${members(1_000_000)}}}`),
  },
  {
    name: "ollama-images",
    path: "/api/chat",
    body: () =>
      many('{"model":"talk","messages":[{"role":"user","images":[', `"${PNG.toString("base64")}"`, 4096, "]}]}"),
  },
  {
    name: "ollama-format",
    path: "/api/chat",
    body: () => ({
      ...talk("[[[[[[[[1]]]]]]]]", { stream: false }),
      format: { anyOf: Array(2000).fill({ $ref: "#" }) },
    }),
  },
  { name: "ollama-pull", path: "/api/pull", body: () => long('{"model":"', "a", 50 * MB, '"}') },
  { name: "ollama-show", path: "/api/show", body: () => long('{"model":"', "a/", 30_000, '"}'), times: 20 },
  { name: "count-tokens", path: "/v1/messages/count_tokens", body: () => long('{"a":"', "a", 50 * MB, '"}') },
  { name: "images-count", path: "/v1/images/generations", body: () => ({ model: "talk", prompt: "a", n: 1e9 }) },
  {
    name: "images-size",
    path: "/v1/images/generations",
    body: () => ({ model: "talk", prompt: "a", size: "99999x99999" }),
  },
  {
    name: "images-prompt",
    path: "/v1/images/generations",
    body: () => ({ model: "talk", prompt: "a".repeat(50 * MB) }),
  },
  {
    name: "speech-text",
    path: "/v1/audio/speech",
    body: () => ({ model: "talk", input: "a".repeat(50 * MB), speed: 0 }),
  },
];

function toolResult(): string {
  return '{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"a"}]}';
}

const WORDS = "good bad great ";
/** Texts for a tokenizer; what is beyond the model's limit is cut. */
const EMBEDDED: Readonly<Record<string, () => Buffer>> = {
  "text-50mb": () => long('"', WORDS, (50 * MB) / WORDS.length, '"'),
  "one-word": () => long('"', "a", 10 * MB, '"'),
  spaces: () => long('"', " ", 2 * MB, '"'),
  "marks-on-one": () => long('"e', "\u0301", MB, '"'),
  "marks-10000": () => long('"e', "\u0301", 10_000, '"'),
  surrogates: () => long('"', "\\ud800", MB, '"'),
  "many-inputs": () => many("[", '"good"', 100_000, "]"),
  "full-inputs": () => many("[", `"${WORDS.repeat(700)}"`, 2048, "]"),
  "empty-inputs": () => many("[", '""', 2048, "]"),
  tokens: () => many("[", "7", 10_000_000, "]"),
  "token-lists": () => many("[", "[7]", 3_000_000, "]"),
};

function inputRows(path: string, before: string, after: string, kind: string): HostileBody[] {
  return Object.entries(EMBEDDED).map(([name, make]) => ({
    name: `${kind}-${name}`,
    path,
    body: () => Buffer.concat([Buffer.from(before), make(), Buffer.from(after)]),
  }));
}

const NUMBERS: readonly HostileBody[] = [
  ...inputRows("/v1/embeddings", '{"model":"vectors","input":', "}", "embed"),
  ...inputRows("/api/embed", '{"model":"talk","input":', "}", "ollama-embed").filter(({ name }) =>
    /inputs|50mb/.test(name),
  ),
  {
    name: "embed-dimensions",
    path: "/v1/embeddings",
    body: () => ({ model: "vectors", input: "good", dimensions: Number.MAX_SAFE_INTEGER }),
    times: 20,
  },
  {
    name: "rerank-documents",
    path: "/v1/rerank",
    body: () => ({
      ...{ model: "pairs", query: WORDS.repeat(700), documents: Array(2048).fill(WORDS.repeat(40)) },
      ...{ return_documents: true, top_n: Number.MAX_SAFE_INTEGER },
    }),
  },
  {
    name: "rerank-many",
    path: "/v2/rerank",
    body: () => ({ model: "pairs", query: "a", documents: Array(100_000).fill("a") }),
  },
  { name: "rerank-echo", path: "/rerank", body: () => rerankEcho() },
  {
    name: "score-pairs",
    path: "/v1/score",
    body: () => ({ model: "pairs", text_1: Array(1024).fill(WORDS.repeat(100)), text_2: Array(1024).fill(WORDS) }),
  },
  {
    name: "tokenize-text",
    path: "/v1/tokenize",
    body: () => long('{"model":"vectors","prompt":"', WORDS, 100_000, '"}'),
  },
  {
    name: "tokenize-marks",
    path: "/v1/tokenize",
    body: () => long('{"model":"vectors","prompt":"', "e\u0301", 300_000, '"}'),
  },
  {
    name: "detokenize-many",
    path: "/v1/detokenize",
    body: () => many('{"model":"vectors","tokens":[', "4", 10_000_000, "]}"),
  },
  {
    name: "detokenize-most",
    path: "/v1/detokenize",
    body: () => many('{"model":"vectors","tokens":[', "4", 65_536, "]}"),
  },
  {
    name: "detokenize-unknown",
    path: "/v1/detokenize",
    body: () => ({ model: "vectors", tokens: Array(60_000).fill(1e15) }),
  },
];

function rerankEcho(): object {
  const documents = Array(2048).fill("\u0001".repeat(5000));
  return { model: "talk", query: "a", documents, return_documents: true };
}

/** Forms of sound. */
const FORMS: Readonly<Record<string, () => Buffer>> = {
  garbage: () => form(field("model", Buffer.from("talk")), file(Buffer.alloc(50 * MB, 0xa5))),
  fields: () => form(repeated(field("a", Buffer.from("1")), 50_000), file(PNG)),
  prompt: () => form(field("prompt", repeated("a", 20 * MB)), file(PNG)),
  times: () => form(repeated(field("timestamp_granularities[]", Buffer.from("word")), 50_000), file(PNG)),
  files: () => form(repeated(file(PNG), 50_000)),
  temperature: () => form(field("temperature", repeated("1", 900_000)), file(PNG)),
  boundaries: () => form(file(repeated("\r\n--", 5 * MB))),
};

function field(name: string, value: Buffer): Buffer {
  return part(`name="${name}"`, value);
}

function file(bytes: Buffer): Buffer {
  return part('name="file"; filename="a.wav"', bytes);
}

function part(header: string, value: Buffer): Buffer {
  const head = `--b\r\nContent-Disposition: form-data; ${header}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), value, Buffer.from("\r\n")]);
}

function form(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([...parts, Buffer.from("--b--\r\n")]);
}

const READERS = 200;
const HOLD_MS = 3000;
/** Above the time that a generator has to end once it was left. */
const LEFT_WITHIN_MS = 5000;

/** Readers of endless answers, by their route: all stay and take nothing, or leave at once, three times. */
const ENDLESS: Readonly<Record<string, { readonly path: string; readonly body: object }>> = {
  chat: { path: CHAT, body: talk("endless", { stream: true }) },
  responses: { path: "/v1/responses", body: { model: "talk", input: "endless", stream: true } },
  messages: { path: "/v1/messages", body: talk("endless", { stream: true, max_tokens: 9 }) },
  ollama: { path: "/api/chat", body: talk("endless") },
};

function readerRows(): AttackRow[] {
  return Object.entries(ENDLESS).flatMap(([name, { path, body }]) =>
    ([HOLD_MS, 300] as const).map((holdMs) => ({
      name: `text-${holdMs === HOLD_MS ? "unread" : "left"}-${name}`,
      server: "texts" as const,
      prepare: () => {
        const text = JSON.stringify(body);
        return async (target: Target) => {
          const got: string[] = [];
          for (let turn = holdMs === HOLD_MS ? 2 : 0; turn < 3; turn++)
            got.push(await hold(target, headOf(path, text.length) + text, holdMs));
          return { got: tally(got), ...(await problemOf(target)) };
        };
      },
    })),
  );
}

async function hold(target: Target, request: string, holdMs: number): Promise<string> {
  const sockets: Socket[] = Array.from({ length: READERS }, () => {
    const socket = openSocket(target.http);
    socket.on("error", () => {}).pause();
    socket.write(request);
    return socket;
  });
  await wait(holdMs);
  const ended = sockets.filter(({ destroyed }) => destroyed).length;
  for (const socket of sockets) socket.destroy();
  return `${ended} ended`;
}

/** Generators that are left; the answer of a function says how many. */
async function problemOf(target: Target): Promise<{ readonly problem?: string }> {
  const body = Buffer.from(JSON.stringify(talk("open")));
  let told = "";
  for (let waited = 0; waited < LEFT_WITHIN_MS; waited += 200) {
    told = (await ask(target, { path: CHAT, body })).start;
    if (told.includes('"content":"0"')) return {};
    await wait(200);
  }
  return { problem: `generators are left: ${told.slice(0, 200)}` };
}

/** Requests of a hostile client to the routes of texts, sound and pictures. */
export const TEXT_ROWS: readonly AttackRow[] = [
  ...Object.entries(CHATS).map(([name, body]) => textRow({ name: `chat-${name}`, path: CHAT, body })),
  ...[...echoes(), ...OTHERS, ...NUMBERS].map(textRow),
  ...Object.entries(FORMS).map(([name, body]) =>
    textRow({ name: `sound-${name}`, path: "/v1/audio/transcriptions", body, headers: MULTIPART }),
  ),
  ...readerRows(),
];

function textRow(body: HostileBody): AttackRow {
  return bodyRow("texts", { ...body, name: `text-${body.name}` });
}
