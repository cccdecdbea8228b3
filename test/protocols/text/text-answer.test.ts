import { describe, expect, it } from "vitest";
import { ResponseWriter } from "../../../src/protocols/openai/response-writer.ts";
import { TextAnswer } from "../../../src/protocols/text/text-answer.ts";
import { EVENTS } from "../../../src/proxy/part-form.ts";

const answerTo = (echo = "", keeps: "all" | "calls" = "all") => {
  const parts = { begin: () => [], step: () => [], end: () => [], whole: (made: object) => made };
  return new TextAnswer({ ...parts, form: EVENTS, keeps, callPrefix: "call_" }, echo);
};
const response = () =>
  new TextAnswer(
    new ResponseWriter({ model: "m", includeUsage: true, echo: "", told: {}, arrivedMs: 0, count: 1 }),
    "",
  );
const refused = (limit: string) =>
  expect.objectContaining({ code: "failed_precondition", message: `The answer has more than ${limit}.` });

describe("a whole answer", () => {
  it("counts the memory of what comes before it, of its parts and of their calls", () => {
    expect(answerTo("before").heldBytes).toBe(12);
    const answer = answerTo();
    answer.add({ text: "four" });
    const first = answer.heldBytes;
    expect(first).toBeGreaterThanOrEqual(8 + 64);
    answer.add({ toolCalls: [{ id: "own", name: "f", arguments: "{}" }] });
    expect(answer.heldBytes).toBeGreaterThanOrEqual(first + 12 + 2 * 64);
    answer.add({});
    expect(answer.heldBytes).toBeGreaterThanOrEqual(first + 12 + 3 * 64);
  });

  it("that is too long is refused as what will not pass by itself", () => {
    const refused = (limit: string) =>
      expect.objectContaining({
        code: "failed_precondition",
        message: `The answer has more than ${limit}; ask for it in parts, with "stream": true.`,
      });
    const long = answerTo();
    expect(() => long.add({ text: "x".repeat(4 * 1024 * 1024 + 1) })).toThrow(refused("4194304 characters"));
    const parted = answerTo();
    expect(() => {
      for (let part = 0; part <= 256 * 1024; part++) parted.add({ text: "" });
    }).toThrow(refused("262144 parts"));
  });
});

describe("an answer in parts", () => {
  it("is kept, and counted, as far as its last parts need it", () => {
    const calls = answerTo("", "calls");
    calls.partsOf({ text: "x".repeat(1000) });
    expect(calls.heldBytes).toBe(0);
    calls.partsOf({ toolCalls: [{ id: "own", name: "f", arguments: "{}" }] });
    expect(calls.heldBytes).toBeGreaterThan(0);
  });

  it("that is repeated at the end has a limit of characters, of parts and of items", () => {
    expect(() => response().partsOf({ text: "x".repeat(1024 * 1024 + 1) })).toThrow(refused("1048576 characters"));
    const parted = answerTo();
    expect(() => {
      for (let part = 0; part <= 256 * 1024; part++) parted.partsOf({ text: "x" });
    }).toThrow(refused("262144 parts"));
    expect(parted.heldBytes).toBeGreaterThan(256 * 1024 * 128);
    const alternating = response();
    expect(() => {
      for (let part = 0; part <= 2048; part++) alternating.partsOf({ reasoning: "a", text: "b" });
    }).toThrow(refused("4096 items"));
    const called = answerTo();
    const toolCalls = new Array(128).fill({ id: "", name: "f", arguments: "" });
    for (let part = 0; part < 32; part++) called.partsOf({ toolCalls });
    expect(() => called.partsOf({ toolCalls })).toThrow(refused("4096 calls of tools"));
  });
});
