import { describe, expect, it } from "vitest";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";

const HOOKS = `
  export async function* process({ x }) {
    for (const value of x.data) {
      if (value === 13) throw new Error("no thirteenth part");
      yield { y: Float32Array.of(value) };
    }
  }`;

const HANDLERS = `
  async function* parts(text) {
    for (const word of text.split(" ")) {
      if (word === "fail") throw new Error("no more words");
      yield word + "\\n";
    }
  }
  export function handler(data, context) {
    const text = data.read().toString();
    return context.accept_header === "text/plain" ? parts(text) : [parts(text), context.accept_header];
  }`;

const OUTPUT_HANDLER = `
  export const input_handler = (data) => data.read();
  export function output_handler(response) {
    return [(function* () { yield "["; yield response.content; yield "]"; })(), "text/x-own"];
  }`;

function models() {
  const file = (name: string, text: string) => `${tempFolder({ [name]: text })}/${name}`;
  return {
    each: { driver: "null", hooks: file("hooks.mjs", HOOKS) },
    once: { driver: "null" },
    words: { driver: "null", hooks: file("inference.mjs", HANDLERS) },
    framed: { driver: "null", hooks: file("inference.mjs", OUTPUT_HANDLER) },
  };
}

const TWO = { inputs: { x: [1, 2] } };

const LISTENERS = missingListeners() === undefined ? [1, 2] : [1];

describe.each(LISTENERS)("/invocations of a server with %i listening threads", (listeners) => {
  const serve = shareServer(() => ({ listeners, models: models() }));
  const invoke = async (model: string, body: unknown, headers: Record<string, string> = {}) =>
    postForParts(`${(await serve()).httpUrl}/invocations`, body, {
      "content-type": "application/json",
      "x-amzn-sagemaker-custom-attributes": `tfs-model-name=${model}`,
      ...headers,
    });

  it.each([
    ["nothing", {}, "application/jsonlines"],
    ["any type", { accept: "*/*" }, "application/jsonlines"],
    ["lines of JSON", { accept: "application/jsonlines" }, "application/jsonlines"],
    ["other lines", { accept: "application/x-ndjson" }, "application/x-ndjson"],
  ])("gives each part of an answer as a line to a client that accepts %s", async (_, headers, type) => {
    const reader = await invoke("each", TWO, headers);
    expect(reader.answer.headers).toMatchObject({ "content-type": type, "transfer-encoding": "chunked" });
    const lines = (await reader.rest("\n")).map((line) => JSON.parse(line));
    expect(lines).toEqual([{ outputs: [1] }, { outputs: [2] }]);
  });

  it("gives events to a client that asks for them, of any model", async () => {
    const events = await (await invoke("each", TWO, { accept: "text/event-stream" })).rest();
    expect(events.map((event) => JSON.parse(event.replace(/^data: /, "")))).toEqual([
      { outputs: [1] },
      { outputs: [2] },
    ]);
    expect(await (await invoke("once", TWO, { accept: "text/event-stream" })).rest()).toHaveLength(1);
  });

  it("gives one answer to a client that names a type for one, if there is one", async () => {
    for (const accept of ["application/json", "text/csv", "application/x-npy"]) {
      expect((await invoke("each", TWO, { accept })).answer.statusCode).toBe(501);
      expect((await invoke("each", { inputs: { x: [1] } }, { accept })).answer.statusCode).toBe(200);
    }
    const once = await invoke("once", TWO);
    expect(once.answer.headers).toMatchObject({ "content-type": "application/json" });
    expect(once.answer.headers["content-length"]).toBeDefined();
  });

  it("answers an error before the first part as any other, and a later one as a line", async () => {
    expect((await invoke("each", "{")).answer.statusCode).toBe(400);
    expect((await invoke("each", { inputs: { x: [13] } })).answer.statusCode).toBe(500);
    const lines = await (await invoke("each", { inputs: { x: [1, 13] } })).rest("\n");
    expect(JSON.parse(lines.at(-1) as string)).toEqual({
      error: expect.stringContaining("no thirteenth part"),
      code: "internal",
    });
  });

  it("sends what a handler yields as it comes, under the type that it chose or that of the first part", async () => {
    const chosen = await invoke("words", "one two", { accept: "text/x-own" });
    expect(chosen.answer.headers["content-type"]).toBe("text/x-own");
    expect(await chosen.rest("\n")).toEqual(["one", "two"]);
    const plain = await invoke("words", "one", { accept: "text/plain" });
    expect(plain.answer.headers["content-type"]).toBe("text/plain; charset=utf-8");
    const failed = await invoke("words", "fail", { accept: "text/x-own" });
    expect(failed.answer.statusCode).toBe(500);
  });

  it("sends what an output_handler yields", async () => {
    const reader = await invoke("framed", { instances: [1] });
    expect(reader.answer.headers["content-type"]).toBe("text/x-own");
    expect((await reader.rest("]"))[0]).toContain('"predictions"');
  });
});
