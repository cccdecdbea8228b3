import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createServer, type Server } from "../../../../src/server/server.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { python } from "./serve-python-hooks.ts";

const HOOKS = `
import asyncio, json
import numpy as np

LEFT = []

def init_hook(**params):
    return {"greeting": "hello"}

def preprocess(inputs, ctx):
    return inputs

async def chat(request, ctx):
    last = request["messages"][-1]
    ctx.response.metadata["x-own"] = "yes"
    if last["text"] == "request":
        yield json.dumps({name: request.get(name) for name in ("max_tokens", "tool_choice", "tools", "more", "stop")})
    elif last["text"] == "media":
        yield json.dumps([[each["type"], each.get("media_type"), len(each.get("bytes", b""))] for each in last["content"]])
    elif last["text"] == "tool":
        yield {"tool_calls": [{"name": "f", "arguments": {"max_tokens": 1}}], "finish_reason": "tool_calls"}
    elif last["text"] == "fail":
        raise ValueError("no words")
    elif last["text"] == "wrong":
        yield {"txt": "so"}
    elif last["text"] == "left":
        yield str(len(LEFT))
    elif last["text"] == "endless":
        try:
            while True:
                await asyncio.sleep(0)
                yield "word "
        finally:
            LEFT.append(1)
    else:
        for word in last["text"].split():
            yield word + " "
        yield {"text": ctx.global_ctx["greeting"], "usage": {"prompt_tokens": 2, "completion_tokens": 3}}

def complete(request, ctx):
    return {"text": request["prompt"].upper() + request.get("suffix", ""), "usage": {"prompt_tokens": 1}}

def embed(request):
    if request["texts"][0] == "none":
        return None
    return {"embeddings": np.array([[len(text), 0.5] for text in request["texts"]]), "usage": {"prompt_tokens": 7}}

def rerank(request, ctx):
    return [0.75 if request["query"] in each else 0.25 for each in request["documents"]]

def transcribe(request, ctx):
    yield {"text": f"{len(request['audio']['bytes'])} bytes of {request['audio']['media_type']}", "language": "en"}

def speak(request, ctx):
    if request["text"] == "whole":
        return {"audio": b"RIFF\\0\\0\\0\\0WAVE" + request["voice"].encode(), "media_type": "audio/x-own"}
    if request["text"] == "wrong":
        return {"sound": b"x"}
    return request["text"].encode()

JPEG = b"\\xff\\xd8\\xff"

def generate_image(request, ctx):
    if request["prompt"] == "one":
        return JPEG
    if request["prompt"] == "told":
        return {"images": [{"bytes": JPEG + b"1", "revised_prompt": "better"}], "usage": {"prompt_tokens": 2}}
    if request["prompt"] == "pixels":
        return np.zeros((2, 2, 3), np.uint8)
    return [JPEG + str(each).encode() for each in range(request["count"])]
`;

describe.skipIf(python === undefined)("functions of a Python file", () => {
  let server: Server | undefined;
  let client: OpenAI;
  const folder = mkdtempSync(join(tmpdir(), "kserving-test-"));
  beforeAll(async () => {
    const hooks = join(folder, "hooks.py");
    writeFileSync(hooks, HOOKS);
    server = await createServer({ http: {}, stages: [{ driver: "null" }], hooks, options: { python: python ?? "" } });
    client = new OpenAI({ baseURL: `${server.httpUrl}/v1`, apiKey: "any", maxRetries: 0 });
  });
  afterAll(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (content: unknown, more: object = {}) =>
    client.chat.completions.create({ model: "default", messages: [{ role: "user", content } as never], ...more });
  const told = async (content: unknown, more: object = {}) =>
    JSON.parse((await ask(content, more)).choices[0]?.message.content ?? "");

  test("chat answers OpenAI's client, whole and in parts, with usage, headers and what init_hook gave", async () => {
    const { data, response } = await client.chat.completions
      .create({ model: "default", messages: [{ role: "user", content: "two words" }] })
      .withResponse();
    expect(data.choices[0]).toMatchObject({ message: { content: "two words hello" }, finish_reason: "stop" });
    expect(data.usage).toEqual({ prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 });
    expect(response.headers.get("x-own")).toBe("yes");
    const stream = client.chat.completions.stream({ model: "default", messages: [{ role: "user", content: "a b" }] });
    const deltas: string[] = [];
    stream.on("content", (delta) => deltas.push(delta));
    await stream.finalMessage();
    expect(deltas).toEqual(["a ", "b ", "hello"]);
  });

  test("a request has Python's names, but for what is the client's own, and files as bytes", async () => {
    const parameters = { type: "object", properties: { maxTokens: { type: "number" } } };
    const tools = [{ type: "function", function: { name: "f", parameters } }];
    const request = await told("request", { max_tokens: 5, tools, tool_choice: "required", topK: 3, stop: "." });
    expect(request).toMatchObject({ max_tokens: 5, tool_choice: "required", more: { topK: 3 }, stop: ["."] });
    expect(request.tools[0].parameters).toEqual(parameters);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,R0lGODlh" } };
    expect(await told([{ type: "text", text: "media" }, image])).toEqual([
      ["text", null, 0],
      ["image", "image/gif", 6],
    ]);
  });

  test("calls of tools keep the names of their arguments", async () => {
    const { message, finish_reason } = (await ask("tool")).choices[0] ?? {};
    expect(finish_reason).toBe("tool_calls");
    expect(message?.tool_calls?.[0]).toMatchObject({ function: { name: "f", arguments: '{"max_tokens":1}' } });
  });

  test("the other functions answer their routes", async () => {
    const completed = await client.completions.create({ model: "default", prompt: "go", suffix: "!" });
    expect(completed.choices[0]?.text).toBe("GO!");
    const embedded = await client.embeddings.create({ model: "default", input: ["a", "three"] });
    expect(embedded.data.map(({ embedding }) => embedding)).toEqual([
      [1, 0.5],
      [5, 0.5],
    ]);
    expect(embedded.usage.prompt_tokens).toBe(7);
    const ranked = await fetch(`${server?.httpUrl}/v1/rerank`, {
      method: "POST",
      body: JSON.stringify({ model: "default", query: "cat", documents: ["a boat", "a cat"] }),
    });
    const { results } = (await ranked.json()) as { results: readonly { index: number }[] };
    expect(results.map(({ index }) => index)).toEqual([1, 0]);
    const file = new File([Buffer.from("RIFF\0\0\0\0WAVE and more", "latin1")], "a.wav");
    const heard = await client.audio.transcriptions.create({ model: "default", file });
    expect(heard.text).toBe("21 bytes of audio/wav");
  });

  test("speak gives the bytes of a sound, with their type if it says", async () => {
    const speak = (input: string) => client.audio.speech.create({ model: "default", input, voice: "eva" });
    const whole = await speak("whole");
    expect([whole.headers.get("content-type"), await whole.text()]).toEqual(["audio/x-own", "RIFF\0\0\0\0WAVEeva"]);
    expect(await (await speak("bare")).text()).toBe("bare");
    await expect(speak("wrong")).rejects.toThrow("sound");
  });

  test("generate_image gives one picture, several, or what is told of them", async () => {
    const make = async (prompt: string, n = 1) => {
      const { data = [], usage } = await client.images.generate({ model: "default", prompt, n });
      const images = data.map(({ b64_json = "", revised_prompt: revised }) => {
        return [Buffer.from(b64_json, "base64").toString("latin1").slice(3), revised];
      });
      return { images, tokens: usage?.input_tokens };
    };
    expect(await make("one")).toEqual({ images: [["", undefined]], tokens: undefined });
    expect(await make("some", 2)).toMatchObject({
      images: [
        ["0", undefined],
        ["1", undefined],
      ],
    });
    expect(await make("told")).toEqual({ images: [["1", "better"]], tokens: 2 });
    await expect(make("pixels")).rejects.toThrow("The hook generateImage returned a tensor");
  });

  test("errors name the function, and a reader that leaves ends its generator", async () => {
    await expect(ask("fail")).rejects.toThrow("The hook chat failed: ");
    await expect(ask("wrong")).rejects.toThrow("txt");
    await expect(client.embeddings.create({ model: "default", input: "none" })).rejects.toThrow(
      "The hook embed returned",
    );
    const stream = await client.chat.completions.create({
      model: "default",
      messages: [{ role: "user", content: "endless" }],
      stream: true,
    });
    for await (const _ of stream) break;
    await expect.poll(() => told("left")).toBe(1);
  });
});

describe.skipIf(python === undefined)("a Python file", () => {
  const start = (files: Readonly<Record<string, string>>) => {
    const hooks = join(tempFolder(files), "hooks.py");
    return createServer({ http: {}, stages: [{ driver: "null" }], hooks, options: { python: python ?? "" } });
  };
  const HELPER = "def embed(request):\n    return [[1.0]]\n";
  const HOOKS_AND_IMPORT = "from helper import embed\n\ndef preprocess(inputs):\n    return inputs\n";

  test.each([
    ["is a helper", "", 404],
    ["answers if __all__ has it", '__all__ = ["embed"]\n', 200],
  ])("that imports a function of such a name: it %s", async (_, exported, status) => {
    const server = await start({ "hooks.py": HOOKS_AND_IMPORT + exported, "helper.py": HELPER });
    onTestFinished(() => server.close());
    const body = JSON.stringify({ model: "default", input: "a" });
    expect((await fetch(`${server.httpUrl}/v1/embeddings`, { method: "POST", body })).status).toBe(status);
  });

  test("has a generator speak, whose parts are one sound", async () => {
    const speak = "def speak(request):\n    for word in request['text'].split():\n        yield word.encode()\n";
    const server = await start({ "hooks.py": speak });
    onTestFinished(() => server.close());
    const body = JSON.stringify({ model: "default", input: "one two", voice: "eva" });
    const answer = await fetch(`${server.httpUrl}/v1/audio/speech`, { method: "POST", body });
    expect(await answer.text()).toBe("onetwo");
  });

  test("whose function is a coroutine is refused with what to write", async () => {
    await expect(start({ "hooks.py": "async def chat(request):\n    return 'so'\n" })).rejects.toThrow(
      "the function chat is a coroutine; expected a generator",
    );
  });
});
