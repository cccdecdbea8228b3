import { readMessagesJob } from "../../../src/protocols/anthropic/messages-request.ts";
import { readMessages } from "../../../src/protocols/mcp/messages.ts";
import { readGenerateJob, readOllamaChatJob } from "../../../src/protocols/ollama/ollama-request.ts";
import { readChatJob } from "../../../src/protocols/openai/chat-request.ts";
import { readImagesJob, readSpeechJob, readTranscriptionJob } from "../../../src/protocols/openai/media-codec.ts";
import {
  readDetokenizeJob,
  readEmbedJob,
  readRerankJob,
  readScoreJob,
  readTokenizeJob,
} from "../../../src/protocols/openai/numbers-codec.ts";
import { readResponseJob } from "../../../src/protocols/openai/responses-request.ts";
import { readCompletionJob } from "../../../src/protocols/openai/text-request.ts";
import { checkJson } from "../../../src/protocols/text/json-schema.ts";
import { between, LARGE, numbered, type TextCost } from "./hostile-texts.ts";

const KB = 1024;
/** Bodies from which another thread reads them. */
const SMALL = 64 * KB;
/** The longest answer that is checked against a schema. */
const CHECKED = 256 * KB;

/** A body of JSON for a route: one of each kind of value in it is long, or there are many of them. */
interface Route {
  readonly read: (body: Uint8Array) => unknown;
  readonly texts: TextCost["texts"];
}

const ROUTES: Readonly<Record<string, Route>> = {
  chat: {
    read: readChatJob.run,
    texts: {
      ...conversation(),
      tools: between('{"tools":[', '{"function":{"name":"f"}},', '{"function":{"name":"f"}}]}'),
      picture: between(pictureStart(), "QUJD", '"}}]}]}'),
      padding: between(pictureStart(), "=", '"}}]}]}'),
      stops: between('{"messages":[{"role":"user","content":"a"}],"stop":[', '"a",', '"a"]}'),
    },
  },
  completions: { read: readCompletionJob.run, texts: { ...values("prompt"), ...members('"prompt":"a"') } },
  responses: {
    read: readResponseJob.run,
    texts: {
      ...values("input"),
      items: between('{"input":[', '{"role":"user","content":"a"},', '{"role":"user","content":"a"}]}'),
      calls: between('{"input":[', call(), `${call().slice(0, -1)}]}`),
    },
  },
  messages: { read: readMessagesJob.run, texts: conversation() },
  "api/chat": { read: readOllamaChatJob.run, texts: conversation() },
  "api/generate": { read: readGenerateJob.run, texts: { ...values("prompt"), ...values("images") } },
  embeddings: { read: readEmbedJob.run, texts: values("input") },
  rerank: { read: readRerankJob.run, texts: { ...values("documents"), query: between('{"query":"', "a", '"}') } },
  score: { read: readScoreJob.run, texts: { ...values("text_1"), ...values("queries") } },
  tokenize: { read: readTokenizeJob.run, texts: values("prompt") },
  detokenize: { read: readDetokenizeJob.run, texts: values("tokens") },
  speech: { read: readSpeechJob.run, texts: values("input") },
  images: { read: readImagesJob.run, texts: values("prompt") },
  "transcriptions' form": {
    read: (body) => readTranscriptionJob.run(body, "multipart/form-data; boundary=b", "transcribe"),
    texts: {
      fields: between(field('file"; filename="a', "1"), field("a", "1"), "--b--"),
      prompt: between(`${field('file"; filename="a', "1")}${field("prompt", "").slice(0, -2)}`, "a", "\r\n--b--"),
    },
  },
  MCP: {
    read: (body) => readMessages(body, 2 ** 28, (job, args) => Promise.resolve(job.run(...args))),
    texts: {
      method: between('{"jsonrpc":"2.0","id":1,"method":"', "a", '"}'),
      id: between('{"jsonrpc":"2.0","id":"', "a", '","method":"ping"}'),
      messages: between("[", '{"jsonrpc":"2.0"},', '{"jsonrpc":"2.0"}]'),
      params: numbered('{"jsonrpc":"2.0","id":1,"method":"ping","params":{', (at) => `"k${at}":1,`, '"a":1}}'),
      numbers: between('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[', "1,", "1]}}"),
    },
  },
};

/** Requests about texts, sound and pictures, and answers that are held to a schema of their client. */
export function chatCosts(): readonly TextCost[] {
  const routes = Object.entries(ROUTES).flatMap(([name, { read, texts }]) => {
    const cost = { texts, read: (text: string) => read(Buffer.from(text)) };
    return [
      { ...cost, name: `${name}, small`, most: SMALL },
      { ...cost, name, ...LARGE, isInMainThread: false },
    ];
  });
  return [...routes, ...schemaCosts()];
}

function conversation(): TextCost["texts"] {
  const start = '{"max_tokens":1,"messages":[{"role":"user","content":';
  return {
    text: between(`${start}"`, "a", '"}]}'),
    escapes: between(`${start}"`, "\\u0001", '"}]}'),
    surrogates: between(`${start}"`, "\\ud800", '"}]}'),
    parts: between(`${start}[`, '{"type":"text","text":"a"},', '{"type":"text","text":"a"}]}]}'),
    messages: between('{"messages":[', '{"role":"user","content":"a"},', '{"role":"user","content":"a"}]}'),
    ...members('"messages":[{"role":"user","content":"a"}]'),
  };
}

function values(name: string): TextCost["texts"] {
  return {
    [`${name} of text`]: between(`{"${name}":"`, "a", '"}'),
    [`${name} of texts`]: between(`{"${name}":[`, '"a",', '"a"]}'),
    [`${name} of numbers`]: between(`{"${name}":[`, "7,", "7]}"),
    [`${name} of lists`]: between(`{"${name}":[`, "[7],", "[7]]}"),
  };
}

function members(own: string): TextCost["texts"] {
  return {
    members: numbered(`{${own},`, (at) => `"k${at}":1,`, '"a":1}'),
    metadata: numbered(`{${own},"metadata":{`, (at) => `"k${at}":1,`, '"a":1}}'),
    deep: (length) => `{${own},"a":${"[".repeat(Math.min(900, length))}${"]".repeat(Math.min(900, length))}}`,
  };
}

function pictureStart(): string {
  const url = '"image_url":{"url":"data:image/png;base64,';
  return `{"messages":[{"role":"user","content":[{"type":"image_url",${url}`;
}

function call(): string {
  return '{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},';
}

function field(name: string, value: string): string {
  return `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
}

/** Schemas that ask for more the longer the answer is. */
const SCHEMAS: Readonly<Record<string, unknown>> = {
  circle: { anyOf: Array(50).fill({ $ref: "#" }), items: { $ref: "#" } },
  items: { items: { type: "integer", enum: [1, 2, 3] } },
  pattern: { type: "string", pattern: "^(a+)+$" },
  names: { additionalProperties: { $ref: "#/$defs/a" }, $defs: { a: { type: "integer" } } },
};

function schemaCosts(): TextCost[] {
  return Object.entries(SCHEMAS).map(([name, schema]) => ({
    ...{ name: `schema: ${name}`, most: CHECKED, isInMainThread: false, texts: answers() },
    read: (text) => checkJson(text, schema),
  }));
}

function answers(): TextCost["texts"] {
  return {
    numbers: between("[", "1,", "1]"),
    members: numbered("{", (at) => `"k${at}":1,`, '"a":1}'),
    lists: (length) => `${"[".repeat(Math.min(500, length))}${"]".repeat(Math.min(500, length))}`,
    text: between('"', "a", '!"'),
  };
}
