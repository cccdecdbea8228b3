import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { python } from "./serve-python-handlers.ts";

async function serve(source: string) {
  const folder = tempFolder({ "inference.py": source });
  const model = { driver: "null", hooks: `${folder}/inference.py`, options: { python: python as string } };
  const { httpUrl } = await startServer({ models: { model } });
  const ask = (body: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${httpUrl}/invocations`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
      ...(signal && { signal }),
    });
  const invoke = async (body: string, accept = "*/*") => {
    const answer = await ask(body, { accept });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
  return { folder, ask, invoke };
}

const PREDICT = (def: string) => `
def model_fn(model_dir):
    return None

${def} predict_fn(data, model):
    for value in data:
        if value == 13:
            raise ValueError("no thirteenth part")
        yield [value * 2]
`;

describe.skipIf(python === undefined).each(["def", "async def"])("a handler in Python that yields: %s", (def) => {
  it("gives each prediction as a line of JSON, or as the client accepts it", async () => {
    const { invoke } = await serve(PREDICT(def));
    expect(await invoke("[1, 2]")).toEqual({ status: 200, type: "application/jsonlines", text: "[2]\n[4]\n" });
    expect(await invoke("[1, 2]", "text/csv")).toEqual({ status: 200, type: "text/csv", text: "2\n4\n" });
    expect(await invoke("[13]")).toMatchObject({ status: 500, text: expect.stringContaining("no thirteenth part") });
    await expect(invoke("[1, 13]")).rejects.toThrow();
    expect(await invoke("[3]")).toMatchObject({ text: "[6]\n" });
  });

  it("has its output_fn called for each prediction", async () => {
    const { invoke } = await serve(`${PREDICT(def)}
def output_fn(prediction, accept):
    return f"<{prediction[0]}>"
`);
    expect(await invoke("[1, 2]", "text/x-own")).toEqual({ status: 200, type: "text/x-own", text: "<2><4>" });
  });

  it("leaves nothing behind if its type cannot be sent, so that no one begins it", async () => {
    const { invoke } = await serve(`
import gc, weakref
LIVE = weakref.WeakSet()

${def} parts():
    yield "a"

def handler(data, context):
    if data.read() == b"live":
        gc.collect()
        return str(len(LIVE)), "text/plain"
    made = parts()
    LIVE.add(made)
    return made, ""
`);
    for (let count = 0; count < 3; count++)
      expect(await invoke("x")).toMatchObject({
        status: 500,
        text: expect.stringContaining("returned the content type"),
      });
    await expect.poll(async () => (await invoke("live")).text).toBe("0");
  });

  it("may be the output_fn, or a handler that chooses its type or leaves it to its first part", async () => {
    const output = await serve(`
def predict_fn(data, model):
    return data

def model_fn(model_dir):
    return None

${def} output_fn(prediction, accept):
    for value in prediction:
        yield str(value)
`);
    expect(await output.invoke("[1, 2]", "text/x-own")).toEqual({ status: 200, type: "text/x-own", text: "12" });
    const handler = await serve(`
${def} parts(text):
    yield {"data": text, "id": "1"}
    yield {"comment": "over"}

${def} words(text):
    yield text
    yield text.encode()

def handler(data, context):
    text = data.read().decode()
    return parts(text) if context.accept_header == "text/event-stream" else (words(text), "text/x-own")
`);
    expect(await handler.invoke("a", "text/event-stream")).toEqual({
      status: 200,
      type: "text/event-stream; charset=utf-8",
      text: "id: 1\ndata: a\n\n: over\n\n",
    });
    expect(await handler.invoke("a")).toEqual({ status: 200, type: "text/x-own", text: "aa" });
  });

  it("is left when its client leaves", async () => {
    const { ask, folder } = await serve(`
import os

${def} parts():
    try:
        while True:
            yield b"x" * 100_000
    finally:
        open(os.path.join(os.path.dirname(__file__), "left"), "w").close()

def handler(data, context):
    return parts(), "text/plain"
`);
    const abort = new AbortController();
    const answer = await ask("[]", {}, abort.signal);
    await answer.body?.getReader().read();
    abort.abort();
    await expect.poll(() => existsSync(`${folder}/left`), { timeout: 10_000 }).toBe(true);
  });

  it("fails where it yields what is no part of a body", async () => {
    const { invoke } = await serve(`
${def} parts():
    yield 3

def handler(data, context):
    return parts()
`);
    expect(await invoke("[]")).toMatchObject({
      status: 500,
      text: expect.stringContaining("its part 1 is a int; expected a text, bytes, or an event"),
    });
  });
});
