import { http, json, type LeakKind } from "./leak-kind.ts";

/** Texts of two lengths, which go to the model in one run. */
const TEXTS = ["good", "bad bad bad great"];
const MODEL = "texts";
/** Another cross-encoder than one whose own scores are from 0 to 1. */
const PAIRS = "pairs";
/** Weights of transformers, which Python runs. */
const WEIGHTS = "weights";
const PYTHON_COUNT = 20_000;

const MCP = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const SOUND = [
  '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ntalk\r\n',
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\0\0\0\0WAVEfmt \r\n--b--\r\n',
].join("");

/** Requests about texts by each dialect, in parts and whole, of hooks and of an encoder with its tokenizer. */
export function textKinds(): LeakKind[] {
  const chat = (more: object, text = "one two three") =>
    json({ model: "talk", messages: [{ role: "user", content: text }], ...more });
  const ask = (name: string, path: string, body: Buffer) => http(`text-${name}`, "200", { path, body });
  const tool = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "talk_chat", arguments: { message: "one two" } },
  };
  return [
    ask("chat", "/v1/chat/completions", chat({})),
    ask("chat-parts", "/v1/chat/completions", chat({ stream: true })),
    http("text-chat-fails", "500", { path: "/v1/chat/completions", body: chat({}, "fail") }),
    ask("responses", "/v1/responses", json({ model: "talk", input: "one two", stream: true })),
    ask("ollama", "/api/chat", chat({})),
    ask("anthropic", "/v1/messages", chat({ max_tokens: 9, stream: true })),
    http("text-mcp", "200", { path: "/mcp", body: json(tool), headers: MCP }),
    http("text-sound", "200", {
      path: "/v1/audio/transcriptions",
      body: Buffer.from(SOUND),
      headers: { "content-type": "multipart/form-data; boundary=b" },
    }),
    ...promptKinds(),
    ask("rerank", "/v1/rerank", json({ model: "talk", query: "good", documents: TEXTS })),
    ...encoderKinds(),
  ];
}

/** Several prompts of one request, each of which the function answers, with and without parts; and one that fails. */
function promptKinds(): LeakKind[] {
  const ask = (name: string, status: string, more: object) => {
    const body = json({ model: "talk", prompt: ["one two", "three", "four"], n: 2, ...more });
    return http(`text-prompts${name}`, status, { path: "/v1/completions", body });
  };
  return [
    ask("", "200", {}),
    ask("-parts", "200", { stream: true }),
    ask("-fail", "500", { prompt: ["one two", "fail"] }),
  ];
}

/** Of models beside a tokenizer. */
function encoderKinds(): LeakKind[] {
  const of = (model: string, [name, path, body]: readonly [string, string, object], status = "200"): LeakKind => ({
    ...http(`text-${name}`, status, { path, body: json({ model, ...body }) }),
    form: "drivers",
    model,
  });
  const rerank = { query: "good", documents: [...TEXTS, ...TEXTS] };
  const byPython = [
    of(WEIGHTS, ["weights", "/v1/embeddings", { input: TEXTS }]),
    of(WEIGHTS, ["weights-many", "/v1/embeddings", { input: Array(100).fill(TEXTS[1]) }]),
    of(WEIGHTS, ["weights-refused", "/v1/embeddings", { input: TEXTS, dimensions: 5000 }], "400"),
  ];
  return [
    of(MODEL, ["embeddings", "/v1/embeddings", { input: TEXTS }]),
    of(MODEL, ["predict", `/v2/models/${MODEL}/infer`, v2Texts()]),
    of(MODEL, ["tokenize", "/tokenize", { prompt: "good bad" }]),
    of(MODEL, ["detokenize", "/detokenize", { tokens: [2, 4, 5, 3] }]),
    of(PAIRS, ["relevance", "/v1/rerank", rerank]),
    of(PAIRS, ["raw-scores", "/v2/rerank", { ...rerank, raw_scores: true, top_n: 1 }]),
    of(PAIRS, ["score", "/v1/score", { text_1: "good", text_2: TEXTS }]),
    ...byPython.map((kind): LeakKind => ({ ...kind, maxCount: PYTHON_COUNT })),
  ];
}

function v2Texts() {
  return { inputs: [{ name: "text", shape: [TEXTS.length], datatype: "BYTES", data: TEXTS }] };
}
