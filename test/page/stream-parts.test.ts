import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { FormTensor } from "../../src/page/form-tensor.ts";
import { addPart, NO_ANSWER, NO_PARTS, readEvents, readParts, withChunk } from "../../src/page/stream-parts.ts";
import { startServer } from "../helpers/start-server.ts";

const PHOTO = readFileSync("examples/photos/page.png");

/** An answer whose bytes come in pieces of this size. */
function inPieces(text: string, size: number): Response {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  return new Response(body);
}

async function all(response: Response): Promise<readonly (readonly FormTensor[])[]> {
  const parts = [];
  for await (const part of readParts(response)) parts.push(part);
  return parts;
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const part = (data: readonly unknown[], datatype = "FP32") => {
  return { outputs: [{ name: "y", datatype, shape: [data.length], data }] };
};

test.each([1, 3, 7, 1000])(
  "parts are read whatever pieces of %i bytes they come in, pings between them",
  async (size) => {
    const text = `: ping\n\n${event(part([1, 2]))}: ping\n\n${event(part(["grüß", "dich"], "BYTES"))}`;
    expect((await all(inPieces(text, size))).map(([output]) => output?.values)).toEqual([
      [1, 2],
      ["grüß", "dich"],
    ]);
  },
);

test("numbers without a word in JSON and bytes that are no text are read from what a server writes", async () => {
  const hooks = {
    async *process() {
      yield { f: [Number.NaN, Number.NEGATIVE_INFINITY, 0.5], i: BigInt64Array.of(2n ** 62n), b: PHOTO };
    },
  };
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
  const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1] }];
  const body = JSON.stringify({ inputs });
  const [outputs] = await all(await fetch(`${httpUrl}/v2/models/default/infer_stream`, { method: "POST", body }));
  const of = (wanted: string) => outputs?.find(({ name }) => name === wanted)?.values;
  expect(of("f")).toEqual([Number.NaN, Number.NEGATIVE_INFINITY, 0.5]);
  expect(of("i")).toEqual([2n ** 62n]);
  expect(of("b")).toEqual([new Uint8Array(PHOTO)]);
});

test("an error after parts is thrown with the server's words, and the parts before it stand", async () => {
  const came: unknown[] = [];
  const read = async () => {
    for await (const [output] of readParts(inPieces(event(part([1])) + event({ error: "no more paper" }), 5)))
      came.push(output?.values);
  };
  await expect(read()).rejects.toThrow("no more paper");
  expect(came).toEqual([[1]]);
});

test("an answer of which the rest is not read is left", async () => {
  const left: string[] = [];
  const body = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: no JSON\n\n")),
      cancel: () => void left.push("left"),
    });
  await expect(all(new Response(body()))).rejects.toThrow();
  for await (const _ of readEvents(new Response(body()))) break;
  expect(left).toEqual(["left", "left"]);
});

test("texts grow part by part, images are kept each, and all else is of the newest part", () => {
  const text = (value: string): FormTensor => ({ name: "text", datatype: "BYTES", shape: [1], values: [value] });
  const image: FormTensor = { name: "image", datatype: "BYTES", shape: [1], values: [new Uint8Array(PHOTO)] };
  const score = (value: number): FormTensor => ({ name: "score", datatype: "FP32", shape: [1], values: [value] });
  let answer = NO_PARTS;
  for (const [index, word] of ["one", " two", " three"].entries())
    answer = addPart(answer, [text(word), image, score(index)]);
  expect(answer).toMatchObject({ count: 3, newest: [score(2)] });
  expect([...answer.texts]).toEqual([["text", "one two three"]]);
  expect(answer.images.map(({ part: number, name }) => `${name} ${number}`)).toEqual(["image 1", "image 2", "image 3"]);
  for (let more = 0; more < 200; more++) answer = addPart(answer, [text("x".repeat(1000)), image]);
  expect([answer.texts.get("text")?.length, answer.images.length]).toEqual([100_000, 24]);
});

test("an answer to a conversation grows by texts, thoughts and the arguments of calls", () => {
  const chunk = (delta: object) => ({ choices: [{ delta }] });
  const call = (index: number, fields: object) => chunk({ tool_calls: [{ index, ...fields }] });
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "Hm" }),
    chunk({ content: "It is" }),
    chunk({ content: " so" }),
    call(0, { id: "a", function: { name: "weather", arguments: "" } }),
    call(1, { id: "b", function: { name: "time", arguments: "{}" } }),
    call(0, { function: { arguments: '{"x":' } }),
    call(0, { function: { arguments: "1}" } }),
    { choices: [] },
  ];
  expect(chunks.reduce(withChunk, NO_ANSWER)).toEqual({
    role: "assistant",
    text: "It is so",
    reasoning: "Hm",
    calls: [
      { id: "a", name: "weather", arguments: '{"x":1}' },
      { id: "b", name: "time", arguments: "{}" },
    ],
  });
  expect(withChunk(NO_ANSWER, chunk({ refusal: "No." })).refusal).toBe("No.");
  expect(() => withChunk(NO_ANSWER, { error: { message: "broken" } })).toThrow("broken");
  const long = chunk({ content: "a".repeat(150_000), reasoning_content: "b".repeat(50_000) });
  const whole = withChunk(NO_ANSWER, long);
  expect(() => withChunk(withChunk(whole, chunk({ content: "c" })), chunk({ content: "d" }))).toThrow(
    "The answer has more than 200000 characters",
  );
});
