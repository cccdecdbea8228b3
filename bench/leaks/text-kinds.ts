import { http, json, type LeakKind } from "./leak-kind.ts";

/** Texts of two lengths, which go to the model in one run. */
const TEXTS = ["good", "bad bad bad great"];
const MODEL = "texts";

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
  const byEncoder = [
    ask("embeddings", "/v1/embeddings", json({ model: MODEL, input: TEXTS })),
    ask("predict", "/v2/models/texts/infer", v2Texts()),
    ask("tokenize", "/tokenize", json({ model: MODEL, prompt: "good bad" })),
  ];
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
    ...byEncoder.map((kind): LeakKind => ({ ...kind, form: "drivers", model: MODEL })),
  ];
}

function v2Texts(): Buffer {
  return json({ inputs: [{ name: "text", shape: [TEXTS.length], datatype: "BYTES", data: TEXTS }] });
}
