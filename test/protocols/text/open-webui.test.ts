import { describe, expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { textHooks } from "../openai/text-hooks.ts";

/**
 * The requests of Open WebUI's backend to the servers behind it, as its routers `ollama.py`, `openai.py`, `audio.py`
 * and `images.py` send them, and what these read of the answers.
 */
const MEDIA = `
  const pixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  export const transcribe = () => "said";
  export const speak = ({ text }) => Buffer.from("ID3" + text);
  export const generateImage = ({ count }) => Array.from({ length: count }, () => pixel);
`;

const serve = shareServer(() => ({
  models: {
    talk: { driver: "null", hooks: textHooks() },
    media: { driver: "null", hooks: `${tempFolder({ "hooks.mjs": MEDIA })}/hooks.mjs` },
    plain: { driver: "null" },
  },
}));

/** Those that it sends with every request, whatever that is; a connection without a key has an empty one. */
const HEADERS = {
  "content-type": "application/json",
  authorization: "Bearer ",
  "x-openwebui-user-name": "J%C3%B6rg M",
  "x-openwebui-user-id": "7a",
  "x-openwebui-user-role": "admin",
  "user-agent": "Python/3.11 aiohttp/3.12",
};

async function send(path: string, body?: object): Promise<Response> {
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return fetch((await serve()).httpUrl + path, { headers: HEADERS, ...post });
}

async function json(path: string, body?: object) {
  const answer = await send(path, body);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
  return JSON.parse(await answer.text());
}

const USER = { role: "user", content: "two words" };

describe("Open WebUI's connection to an Ollama", () => {
  it("is verified, and lists the models, with the times until which they are loaded", async () => {
    expect((await json("/api/version")).version).toMatch(/^\d+\.\d+\.\d+$/);
    const { models } = await json("/api/tags");
    expect(models.map(({ name, model }: Record<string, string>) => [name, model])).toEqual([
      ["talk:latest", "talk:latest"],
    ]);
    const [loaded] = (await json("/api/ps")).models;
    expect([loaded.name, Number.isNaN(Date.parse(loaded.expires_at))]).toEqual(["talk:latest", false]);
    expect((await json("/api/show", { model: "talk:latest" })).capabilities).toContain("completion");
  });

  it("has conversations, whose lines it passes on", async () => {
    const asked = { model: "talk:latest", messages: [USER], options: { temperature: 0.5 }, keep_alive: "5m" };
    const answer = await send("/api/chat", { ...asked, stream: true });
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await answer.text()).trimEnd().split("\n").map((line) => JSON.parse(line)); // biome-ignore format: one chain
    expect(lines.map(({ message, done }) => [message.content, done])).toEqual([
      ["two ", false],
      ["words ", false],
      ["", true],
    ]);
  });

  it("gets vectors, and is told why nothing is unloaded", async () => {
    const { embeddings } = await json("/api/embed", { input: ["a", "bcd"], model: "talk:latest" });
    expect(embeddings).toEqual([
      [1, expect.closeTo(0.1), -2.5],
      [3, expect.closeTo(0.1), -2.5],
    ]);
    const refused = await send("/api/generate", { model: "talk:latest", keep_alive: 0, prompt: "" });
    const { error } = JSON.parse(await refused.text());
    expect([refused.status, error]).toEqual([400, expect.stringContaining("keep_alive is 0, which unloads a model")]);
  });
});

describe("Open WebUI's connection to OpenAI's API", () => {
  it("lists the models", async () => {
    const { object, data } = await json("/v1/models");
    expect([object, data.map(({ id }: { id: string }) => id)]).toEqual(["list", ["talk", "media", "plain"]]);
  });

  it("has conversations in events, and tasks beside them, such as a title, at once", async () => {
    const asked = { model: "talk", messages: [USER] };
    const answer = await send("/v1/chat/completions", {
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const events = (await answer.text()).trimEnd().split("\n\n").map((event) => event.replace("data: ", "")); // biome-ignore format: one chain
    expect(events.at(-1)).toBe("[DONE]");
    const deltas = events.slice(0, -1).flatMap((event) => JSON.parse(event).choices[0]?.delta.content ?? []);
    expect(deltas.join("")).toBe("two words ");
    const title = await json("/v1/chat/completions", { ...asked, stream: false, max_completion_tokens: 1000 });
    expect(title.choices[0].message.content).toBe("two words ");
  });

  it("gets vectors as numbers, and scores of documents, for what it knows", async () => {
    const { data } = await json("/v1/embeddings", { input: ["a"], model: "talk" });
    expect(data[0].embedding).toEqual([1, expect.closeTo(0.1), -2.5]);
    const ranked = await json("/v1/rerank", { model: "talk", query: "b", documents: ["a", "b"], top_n: 2 });
    expect(ranked.results).toMatchObject([
      { index: 1, relevance_score: 0.75 },
      { index: 0, relevance_score: 0.25 },
    ]);
  });

  it("hears, speaks and draws", async () => {
    const spoken = await send("/v1/audio/speech", { model: "media", input: "hi", voice: "alloy" });
    expect([spoken.headers.get("content-type"), await spoken.text()]).toEqual(["audio/mpeg", "ID3hi"]);
    const form = new FormData();
    form.set("file", new Blob(["RIFF"]), "a.wav");
    form.set("model", "media");
    const { "content-type": _, ...headers } = HEADERS;
    const url = `${(await serve()).httpUrl}/v1/audio/transcriptions`;
    expect(await (await fetch(url, { method: "POST", body: form, headers })).json()).toEqual({ text: "said" });
    const picture = { model: "media", prompt: "a dot", n: 1, size: "512x512", response_format: "b64_json" };
    const { data } = await json("/v1/images/generations", picture);
    expect(data).toEqual([{ b64_json: expect.stringMatching(/^iVBOR/) }]);
  });

  it("goes on without lists of voices, which it asks other servers for", async () => {
    for (const path of ["/v1/audio/models", "/v1/audio/voices"]) expect((await send(path)).status).toBe(404);
  });
});
