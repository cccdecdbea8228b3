import { describe, expect, it } from "vitest";
import { toHooks, validateHooks } from "../../src/hooks/hook-set.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import type { RawResult, RawStream } from "../../src/hooks/raw-entry.ts";
import { textEntries } from "../../src/hooks/text-entries.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

/** The answer that the entry of a function makes of a result. */
function seal(name: string, returned: unknown): RawResult | RawStream {
  const entry = textEntries({ [name]: () => {} }, "my.ts", false)?.get(name);
  if (entry === undefined) throw new Error(`there is no entry ${name}`);
  return entry.seal(returned);
}

function sealed(name: string, returned: unknown): RawResult {
  return seal(name, returned) as RawResult;
}

const textOf = ({ body }: RawResult) => JSON.parse(Buffer.from(body).toString());
const numbersOf = ({ body }: RawResult) => {
  const whole = body.slice().buffer;
  return [[...new Uint32Array(whole, 0, 3)], [...new Float32Array(whole, 16)]];
};

describe("functions of a hook file about texts", () => {
  it("are entries by their names, and hooks by themselves", () => {
    const hooks = { chat: () => "", embed: () => [] } as unknown as Hooks;
    expect([...(validateHooks(hooks, 1, "my.ts").entries?.keys() ?? [])]).toEqual(["chat", "embed"]);
    const route = { path: "/own", answer: () => ({}) };
    const both = validateHooks({ ...hooks, rawRequest: route }, 2, "my.ts");
    expect([...(both.entries?.keys() ?? [])]).toEqual(["POST /own", "chat", "embed"]);
  });

  it("are refused if they are none, except in a module, which may have something else of that name", () => {
    expect(() => validateHooks({ chat: 3 } as never, 1, "my.ts")).toThrow(
      "my.ts: chat is a number; expected a function.",
    );
    const module = { chat: 3, process: () => ({}), [Symbol.toStringTag]: "Module" };
    expect(validateHooks(toHooks(module, "my.ts"), 1, "my.ts").entries).toBeUndefined();
  });
});

it("each choice has a seed of its own, which is a whole number behind the largest one too", () => {
  const entry = textEntries({ chat: (request: unknown) => request }, "my.ts", false)?.get("chat");
  const seedAt = (seed: number, choice: string) => {
    const body = Buffer.from(JSON.stringify({ seed, messages: [] }));
    return entry?.call({ facts: { choice }, body } as never, {} as never);
  };
  expect([seedAt(7, "0"), seedAt(7, "2")]).toMatchObject([{ seed: 7 }, { seed: 9 }]);
  const most = Number.MAX_SAFE_INTEGER;
  expect(["0", "1", "2"].map((choice) => seedAt(most, choice))).toMatchObject([
    { seed: most },
    { seed: 0 },
    { seed: 1 },
  ]);
});

describe("an answer with a text", () => {
  it("is a text, or an object, of which arguments become text", () => {
    expect(textOf(sealed("chat", "hi"))).toEqual({ text: "hi" });
    const call = { name: "f", arguments: { a: [1] } };
    const whole = { toolCalls: [call], usage: { promptTokens: 1 }, finishReason: "length" };
    expect(textOf(sealed("chat", whole))).toEqual({ ...whole, toolCalls: [{ name: "f", arguments: '{"a":[1]}' }] });
  });

  it("may come in parts, of a generator that may give promises", async () => {
    const { open } = seal(
      "complete",
      (function* () {
        yield "a";
        yield Promise.resolve({ text: "b" });
      })(),
    ) as RawStream;
    const parts = open();
    const texts: unknown[] = [];
    for (let step = await parts.next(); step.done !== true; step = await parts.next())
      texts.push(JSON.parse(Buffer.from(step.value as Uint8Array).toString()));
    expect(texts).toEqual([{ text: "a" }, { text: "b" }]);
  });

  it.each([
    ["chat", undefined, "returned undefined (is a return, or an await, missing?); expected a text"],
    ["chat", 3, "returned a number; expected a text, or an object"],
    ["chat", { text: 3 }, "returned a number as text; expected a text"],
    ["complete", { toolCalls: [] }, "returned the member toolCalls; expected text, usage, finishReason"],
    ["chat", { finishReason: "tired" }, "returned the finishReason tired; expected stop, length"],
    ["chat", { usage: { promptTokens: -1 } }, "returned usage with -1; expected whole numbers"],
    ["chat", { toolCalls: ["f"] }, "returned a string as toolCalls[0]; expected an object"],
    ["chat", { toolCalls: [{ name: "f", arguments: [1] }] }, "returned an array as toolCalls[0].arguments"],
    ["chat", { toolCalls: new Array(129) }, "129 toolCalls at once; expected 128 at most; yield more in further parts"],
    ["chat", "x".repeat(4 * 1024 * 1024), "bytes at once; expected 4194304 at most; yield a long text in pieces"],
  ])("of %s may not be %j", (name, returned, message) => {
    expect(() => seal(name, returned)).toThrow(message);
  });
});

describe("an answer that cannot be written", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;

  it.each([
    ["chat", { toolCalls: [{ name: "f", arguments: cyclic }] }],
    ["chat", { toolCalls: [{ name: "f", arguments: { a: new Map() } }] }],
    ["embed", createTensor("bytes", [1, 1], [new Uint8Array(1)])],
  ])("is the failure of the hook %s", (name, returned) => {
    expect(() => seal(name, returned)).toThrow(
      expect.objectContaining({ code: "internal", message: expect.stringContaining(`the hook ${name} `) }),
    );
  });

  it("is so too as a part", async () => {
    const { open } = seal("chat", [{ toolCalls: [{ name: "f", arguments: cyclic }] }].values()) as RawStream;
    await expect(Promise.resolve(open().next())).rejects.toMatchObject({ code: "internal" });
  });
});

describe("an answer with numbers", () => {
  const tensor = createTensor("float32", [2, 1], Float32Array.of(1, 2));

  it.each([
    ["embed", [[1, 2], Float32Array.of(3, 4)], [2, 2, 0xffffffff], [1, 2, 3, 4]],
    ["embed", { embeddings: [[1]], usage: { promptTokens: 7 } }, [1, 1, 7], [1]],
    ["embed", tensor, [2, 1, 0xffffffff], [1, 2]],
    ["rerank", [0.5, 1], [2, 1, 0xffffffff], [0.5, 1]],
    ["rerank", { scores: tensor }, [2, 1, 0xffffffff], [1, 2]],
    ["rerank", Float32Array.of(2), [1, 1, 0xffffffff], [2]],
  ])("of %s may be a list or a tensor, alone or with more", (name, returned, head, numbers) => {
    expect(numbersOf(sealed(name, returned))).toEqual([head, numbers]);
  });

  it.each([
    ["embed", "a", "returned a string; expected a list of vectors"],
    ["embed", [1, 2], "returned an array; expected a list of vectors"],
    ["embed", [[1], [1, 2]], "returned vectors of different lengths; expected a list of vectors"],
    ["embed", createTensor("float32", [2], Float32Array.of(1, 2)), "returned a tensor of shape [2]"],
    ["rerank", createTensor("float32", [1, 2], Float32Array.of(1, 2)), "returned a tensor of shape [1,2]"],
    ["rerank", [0.5, null], "returned null as scores[1]; expected a list with one number for each document"],
    ["rerank", { scores: ["0.5"] }, "returned a string as scores[0]"],
    ["rerank", [true], "returned a boolean as scores[0]"],
    ["rerank", new Array(1), "returned undefined as scores[0]"],
    ["embed", [[1], ["4"]], "returned a string as embeddings[1][0]; expected a list of vectors"],
    ["rerank", { score: [1] }, "returned the member score; expected scores, usage"],
  ])("of %s may not be %j", (name, returned, message) => {
    expect(() => seal(name, returned)).toThrow(`The hook ${name} ${message}`);
  });

  it("may not have a bigint", () => {
    expect(() => seal("rerank", [1n])).toThrow("The hook rerank returned a bigint as scores[0]");
  });
});
