import { describe, expect, it, vi } from "vitest";
import { HttpExchange } from "../../../src/proxy/http-exchange.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tableOf, toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]).toString("base64");
const GIF = Buffer.from("GIF89a..").toString("base64");
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const GARBAGE = Buffer.from("garbage, and no image at all").toString("base64");

/** Functions that tell what they got. */
const hooks = (folder: string) => `
  import { ServingError } from "kserving";
  import { loadTokenizer } from "kserving/text";
  const tokenizer = await loadTokenizer(${JSON.stringify(folder)});
  const seen = (request) => JSON.stringify(request, (_, value) => (value instanceof Uint8Array ? value.length : value));
  const answer = async (text, request) => {
    if (text === "long") await tokenizer.checkLength("good ".repeat(20));
    if (text === "loops") return tokenizer.applyChatTemplate([]);
    return text.length > 1000 ? String(text.length) : seen(request);
  };
  export const chat = (request) => answer(request.messages.at(-1).text, request);
  export const complete = (request) => answer(request.prompt, request);
  export const embed = ({ texts, ...rest }) => texts.map((text) => [text.length, seen(rest).length]);
  export const rerank = ({ query, documents, more }) => documents.map((each) => query.length + each.length + seen(more).length);
  export const speak = (request) => Buffer.from(seen(request));
  export const generateImage = () => Buffer.from("${PIXEL}", "base64");
`;

const LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}{% endfor %}{% endfor %}";

function tokenizerFolder(): string {
  const config = JSON.stringify({ max_position_embeddings: 8 });
  return tempFolder({ ...toyTokenizer({ config: { chat_template: LOOP } }), "config.json": config });
}

/** An embedding model and a cross-encoder. */
function textModels() {
  const table = tableOf({ good: [3, 1], bad: [0, 4] });
  const folder = (config: object, model: Uint8Array) =>
    `${tempFolder({ ...toyTokenizer(), "config.json": JSON.stringify(config), "model.onnx": model })}/model.onnx`;
  const encoder = { architectures: ["BertModel"], model_type: "bert", hidden_size: 2, max_position_embeddings: 8 };
  const cross = { architectures: ["BertForSequenceClassification"], id2label: { 0: "LABEL_0" } };
  const scoring = toyEncoder({ head: "mean", output: "logits", table: tableOf({ good: [5], bad: [-5] }) });
  const options = { texts: "true" };
  const path = folder(encoder, toyEncoder({ table }));
  return {
    search: { path, options },
    strict: { path, options: { ...options, truncate: "refuse" } },
    pairs: { path: folder(cross, scoring), options },
  };
}

const serveHooks = shareServer(() => {
  const files = { "hooks.mjs": hooks(tokenizerFolder()) };
  return { stages: [{ driver: "null" }], hooks: `${tempFolder(files)}/hooks.mjs` };
});
const serveModels = shareServer(() => ({ models: textModels() }));

async function post(path: string, body: unknown, serve = serveHooks) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: text });
  return { status: answer.status, text: await answer.text() };
}

/** A route with the least that it takes, and what that may have beside it. */
interface Route {
  readonly path: string;
  readonly body: object;
  /** Members that may be left out. */
  readonly optional: readonly string[];
  /** The body with members within it that are null. */
  readonly within?: object;
}

const SAMPLING = ["temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty", "user", "top_k"];
const OPENAI = ["model", "stream", "stream_options", "n", "max_tokens", "logit_bias", "logprobs", ...SAMPLING];
const TOOLS = ["tools", "tool_choice", "parallel_tool_calls", "metadata", "store", "service_tier"];
const OLLAMA = ["model", "format", "options", "keep_alive", "think", "images", "system", "template", "raw", "suffix"];

const message = { role: "user", content: "a" };
const nulls = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]));

const ROUTES: readonly Route[] = [
  {
    path: "/v1/chat/completions",
    body: { messages: [message] },
    optional: [...OPENAI, ...TOOLS, "max_completion_tokens", "response_format", "audio", "modalities", "functions"],
    within: { messages: [{ ...message, ...nulls(["name", "tool_calls", "tool_call_id"]) }], stream_options: {} },
  },
  { path: "/v1/completions", body: { prompt: "a" }, optional: [...OPENAI, "suffix", "echo", "best_of"] },
  {
    path: "/v1/responses",
    body: { input: "a" },
    optional: ["model", "stream", ...SAMPLING, ...TOOLS, "instructions", "max_output_tokens", "previous_response_id"],
    within: { text: nulls(["format", "verbosity"]), input: [{ ...message, ...nulls(["id", "type", "status"]) }] },
  },
  {
    path: "/v1/messages",
    body: { messages: [message], max_tokens: 5 },
    optional: ["model", "stream", "system", "stop_sequences", "metadata", "thinking", ...TOOLS, ...SAMPLING],
    within: { metadata: nulls(["user_id"]), output_config: nulls(["format", "effort"]) },
  },
  {
    path: "/api/chat",
    body: { messages: [message], stream: false },
    optional: [...OLLAMA, "tools"],
    within: { messages: [{ ...message, ...nulls(["images", "tool_calls", "tool_name", "thinking"]) }] },
  },
  {
    path: "/api/generate",
    body: { prompt: "a", stream: false },
    optional: [...OLLAMA, "context"],
    within: { options: nulls(["num_predict", "temperature", "stop", "seed", "num_ctx"]) },
  },
  { path: "/v1/embeddings", body: { input: "a" }, optional: ["model", "encoding_format", "dimensions", "user"] },
  { path: "/api/embed", body: { input: "a" }, optional: ["model", "truncate", "dimensions", "options", "keep_alive"] },
  { path: "/api/embeddings", body: { prompt: "a" }, optional: ["model", "options", "keep_alive"] },
  {
    path: "/v1/rerank",
    body: { query: "a", documents: ["b", "cd"] },
    optional: ["model", "top_n", "return_documents", "max_tokens_per_doc", "rank_fields"],
    within: { documents: ["b", { text: "cd", title: null }] },
  },
  { path: "/v1/score", body: { text_1: "a", text_2: ["b"] }, optional: ["model", "queries", "documents", "user"] },
  {
    path: "/v1/audio/speech",
    body: { input: "a" },
    optional: ["model", "voice", "instructions", "response_format", "speed", "stream_format"],
  },
  {
    path: "/v1/images/generations",
    body: { prompt: "a" },
    optional: ["model", "n", "size", "response_format", "quality", "style", "stream", "output_format", "user"],
  },
];

/** An answer without what differs each time. */
const plain = (text: string) =>
  text
    .replace(/"(?:id|created|created_at|completed_at|\w+_duration)":(?:"[^"]*"|\d+)/g, "")
    .replace(/\w+-[\w-]{30,}/g, "");

describe("a member that may be left out", () => {
  it.each(ROUTES.map((route) => [route.path, route] as const))(
    "is as absent where it is null: %s",
    async (path, route) => {
      const { body, optional, within = {} } = route;
      const expected = await post(path, body);
      expect(expected.status, expected.text).toBe(200);
      const answer = await post(path, { ...nulls(optional), ...body, ...within });
      expect({ ...answer, text: plain(answer.text) }).toEqual({ ...expected, text: plain(expected.text) });
    },
  );

  it.each([
    ["/v1/embeddings", { model: "search", input: "good" }, ["encoding_format", "dimensions", "truncate_prompt_tokens"]],
    ["/v1/rerank", { model: "pairs", query: "a", documents: ["good"] }, ["top_n", "truncate_prompt_tokens"]],
    ["/tokenize", { model: "search", prompt: "good" }, ["add_special_tokens", "messages", "return_token_strs"]],
    ["/detokenize", { model: "search", tokens: [4] }, ["user"]],
  ])("is likewise for models without hooks: %s", async (path, body, optional) => {
    const expected = await post(path, body, serveModels);
    expect(expected.status, expected.text).toBe(200);
    const answer = await post(path, { ...body, ...nulls(optional) }, serveModels);
    expect({ ...answer, text: plain(answer.text) }).toEqual({ ...expected, text: plain(expected.text) });
  });
});

const MANY = 100_000;
const TOO_MANY_MEMBERS = "The body has more than 131072 members; send less at once.";

it.each([
  ["/v1/chat/completions", { messages: Array(MANY).fill(message) }, TOO_MANY_MEMBERS],
  ["/v1/completions", { prompt: Array(MANY).fill("a") }, "prompt is a list of 100000 texts"],
  ["/v1/responses", { input: Array(MANY).fill(message) }, TOO_MANY_MEMBERS],
  ["/v1/messages", { messages: Array(MANY).fill(message) }, TOO_MANY_MEMBERS],
  [
    "/v1/messages",
    { messages: [{ role: "user", content: Array(MANY).fill({ type: "text", text: "a" }) }] },
    TOO_MANY_MEMBERS,
  ],
  ["/api/chat", { messages: Array(MANY).fill(message) }, TOO_MANY_MEMBERS],
  ["/api/generate", { prompt: "a", images: Array(MANY).fill(GIF) }, "images is a list of 100000 items"],
  ["/v1/embeddings", { input: Array(MANY).fill("a") }, "input is a list of 100000 texts; expected 2048 at most"],
  ["/api/embed", { input: Array(MANY).fill("a") }, "input is a list of 100000 texts; expected 2048 at most"],
  ["/v1/rerank", { query: "a", documents: Array(MANY).fill("a") }, "documents is a list of 100000 texts"],
  ["/v1/score", { text_1: "a", text_2: Array(MANY).fill("a") }, "text_2 is a list of 100000 texts"],
])("a hundred thousand inputs are refused: %s", async (path, body, expected) => {
  const { status, text } = await post(path, body);
  expect([status, text]).toEqual([400, expect.stringContaining(expected)]);
});

it.each([
  ["/v1/completions", { prompt: [15339, 1917] }],
  ["/v1/embeddings", { input: [15339, 1917] }],
  ["/v1/embeddings", { input: [[15339, 1917], [15339]] }],
  ["/api/embed", { input: [15339, 1917] }],
  ["/v1/score", { text_1: "a", text_2: [15339] }],
])(
  "token ids in place of texts are refused with the reason, and the switch of a client that sends them: %s",
  async (path, body) => {
    const { status, text } = await post(path, body);
    const isInput = "input" in body;
    const expected = isInput ? "check_embedding_ctx_length=False" : "since only their own tokenizer";
    expect([status, text]).toEqual([400, expect.stringContaining(expected)]);
  },
);

describe("odd characters", () => {
  const [half, zero, marks] = ["a\ud800", "a\u0000b", `a${"\u0301".repeat(10_000)}`];
  const HALVES: readonly (readonly [string, object, string])[] = [
    ["/v1/embeddings", { input: ["a", half] }, "input[1]"],
    ["/v1/completions", { prompt: half }, "prompt"],
    ["/api/embed", { input: half }, "input"],
    ["/api/embeddings", { prompt: half }, "prompt"],
    ["/v1/rerank", { query: half, documents: ["a"] }, "query"],
    ["/v1/rerank", { query: "a", documents: [{ text: half }] }, "documents[0]"],
    ["/v1/score", { text_1: "a", text_2: [half] }, "text_2[0]"],
    ["/tokenize", { prompt: half }, "prompt"],
  ];

  it.each(HALVES)(
    "halves of surrogate pairs are refused where texts become UTF-8: %s %j",
    async (path, body, place) => {
      const { status, text } = await post(path, body);
      const expected = `${place} is a text with half of a surrogate pair at 1; expected whole characters`;
      expect([status, text]).toEqual([400, expect.stringContaining(expected)]);
    },
  );

  it.each([
    ["/v1/chat/completions", { messages: [{ role: "user", content: "?" }] }],
    ["/v1/responses", { input: "?" }],
    ["/v1/messages", { messages: [{ role: "user", content: "?" }] }],
    ["/api/chat", { stream: false, messages: [{ role: "user", content: "?" }] }],
    ["/api/generate", { stream: false, prompt: "?" }],
    ["/v1/completions", { prompt: "?" }],
  ])("reach functions as they were sent: %s", async (path, body) => {
    const withText = (sent: string) => JSON.stringify(body).replace('"?"', JSON.stringify(sent));
    for (const sent of path === "/v1/completions" ? [zero] : [half, zero]) {
      const { status, text } = await post(path, withText(sent));
      expect([status, text]).toEqual([200, expect.stringContaining(JSON.stringify(JSON.stringify(sent)).slice(3, -3))]);
    }
    const { text } = await post(path, withText(marks));
    expect(text).toContain("10001");
  });

  it.each([zero, marks])("reach models without hooks, too", async (sent) => {
    for (const [path, body] of [
      ["/v1/embeddings", { model: "search", input: sent }],
      ["/v1/rerank", { model: "pairs", query: sent, documents: [sent] }],
      ["/tokenize", { model: "search", prompt: sent }],
    ] as const)
      expect((await post(path, body, serveModels)).status).toBe(200);
  });
});

describe("a large text", () => {
  it("of 50 MB is read in a codec thread, and cut to what a model takes", async () => {
    const decode = vi.spyOn(HttpExchange.prototype, "decode");
    const input = "good ".repeat(10_000_000);
    const { status, text } = await post("/v1/embeddings", { model: "search", input }, serveModels);
    expect([status, JSON.parse(text).data[0].embedding]).toEqual([200, [2.25, 0.75]]);
    expect(decode.mock.calls.map(([{ name }]) => name)).toEqual(["readEmbedJob"]);
    decode.mockRestore();
  });

  it.each(ROUTES.map(({ path, body }) => [path, body] as const))(
    "is read in a codec thread: %s",
    async (path, body) => {
      const decode = vi.spyOn(HttpExchange.prototype, "decode");
      const long = JSON.stringify(body).replace(/"a"/, JSON.stringify("a".repeat(100_000)));
      expect((await post(path, long)).status).toBe(200);
      expect(decode).toHaveBeenCalledOnce();
      decode.mockRestore();
    },
  );
});

describe("an image that is not what its client says", () => {
  const DIALECTS: readonly (readonly [string, (base64: string) => object, (text: string) => string])[] = [
    [
      "/v1/chat/completions",
      (image) => ({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: png(image) } }] }] }),
      (text) => JSON.parse(text).choices[0].message.content,
    ],
    [
      "/v1/responses",
      (image) => ({ input: [{ role: "user", content: [{ type: "input_image", image_url: png(image) }] }] }),
      (text) => JSON.parse(text).output[0].content[0].text,
    ],
    [
      "/v1/messages",
      (data) => {
        const source = { type: "base64", media_type: "image/png", data };
        return { messages: [{ role: "user", content: [{ type: "image", source }] }] };
      },
      (text) => JSON.parse(text).content[0].text,
    ],
    [
      "/api/chat",
      (image) => ({ stream: false, messages: [{ ...message, images: [image] }] }),
      (text) => JSON.parse(text).message.content,
    ],
  ];
  const png = (base64: string) => `data:image/png;base64,${base64}`;

  it.each(DIALECTS)("has the type of its first bytes: %s", async (path, bodyOf, textOf) => {
    const { text } = await post(path, bodyOf(JPEG));
    const image = JSON.parse(textOf(text)).messages[0].content.at(-1);
    expect(image).toEqual({ type: "image", mediaType: "image/jpeg", bytes: 6 });
  });

  it.each(DIALECTS)("is refused where these are of none: %s", async (path, bodyOf) => {
    for (const base64 of [GARBAGE, "", "<>", Buffer.from("<svg></svg>").toString("base64")]) {
      const { status, text } = await post(path, bodyOf(base64));
      expect([status, text]).toEqual([400, expect.stringContaining("no image in base64; expected one of JPEG, PNG")]);
    }
  });

  it("is sound that is not", async () => {
    const ask = (data: string, format: string) =>
      post("/v1/chat/completions", {
        messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data, format } }] }],
      });
    const flac = Buffer.from("fLaC....").toString("base64");
    expect((await ask(flac, "wav")).text).toContain("audio/flac");
    const { status, text } = await ask(GARBAGE, "wav");
    expect([status, text]).toEqual([400, expect.stringContaining("input_audio.data is no wav")]);
  });
});

describe("a text beyond what a model takes", () => {
  const MESSAGE = "The text has 22 tokens, and the model takes 8 at most; send less.";
  const user = [{ role: "user", content: "long" }];

  it.each([
    ["/v1/chat/completions", { messages: user }],
    ["/v1/completions", { prompt: "long" }],
    ["/v1/responses", { input: "long" }],
  ])("has OpenAI's code: %s", async (path, body) => {
    const { status, text } = await post(path, body);
    const error = { message: MESSAGE, type: "invalid_request_error", param: null, code: "context_length_exceeded" };
    expect([status, JSON.parse(text)]).toEqual([400, { error }]);
  });

  it("has the form of the other dialects", async () => {
    const { status, text } = await post("/v1/messages", { max_tokens: 1, messages: user });
    expect([status, JSON.parse(text).error]).toEqual([400, { type: "invalid_request_error", message: MESSAGE }]);
    const ollama = await post("/api/chat", { messages: user });
    expect([ollama.status, JSON.parse(ollama.text)]).toEqual([400, { error: MESSAGE }]);
  });

  it("is refused by a model that does not cut texts, too", async () => {
    const body = { model: "strict", input: ["good", "good ".repeat(20)] };
    const { status, text } = await post("/v1/embeddings", body, serveModels);
    expect([status, JSON.parse(text).error]).toMatchObject([400, { code: "context_length_exceeded" }]);
    expect(text).toContain("Text 1 has more than 8 tokens");
  });
});

it("a chat template that loops ends with an error, and the server goes on", async () => {
  const { status, text } = await post("/v1/chat/completions", { messages: [{ role: "user", content: "loops" }] });
  expect([status, text]).toEqual([400, expect.stringContaining("took more than 1000 ms")]);
  expect((await post("/v1/completions", { prompt: "a" })).status).toBe(200);
});
