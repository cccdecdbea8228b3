import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Model, PartsModel, PredictCall } from "../../../src/drivers/driver.ts";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import { ServingError } from "../../../src/errors.ts";
import { toTensors, type Values } from "../../../src/tensor/plain-value.ts";
import { plain } from "../../helpers/run-pipeline.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { describeStreams } from "../stream-contract.ts";
import { IMPORT_PATH, loadAnyModel, shareModel } from "./load-model.ts";

const python = warmNumpy("Python models that answer in parts");

const optionsOf = (name: string) => ({ python: python as string, model_class: `toy.parts:${name}` });

function load(name: string, options: RawOptions = {}): Promise<Model | PartsModel> {
  return loadAnyModel("python", "", { options: { ...optionsOf(name), ...options } });
}

const never = new AbortController().signal;

/** The parts of an answer as plain values, and its failure. */
async function partsOf(model: Model | PartsModel, inputs: Values, call: Partial<PredictCall> = {}) {
  const parts: Record<string, unknown>[] = [];
  let failure: unknown;
  const whole = { signature: "serving_default", signal: never, ...call } as PredictCall;
  try {
    for await (const part of model.predictStream!(toTensors(inputs), whole)) parts.push(plain(part));
  } catch (reason) {
    failure = reason;
  }
  return { parts, failure };
}

const numbersOf = ({ parts }: { parts: Record<string, unknown>[] }) => parts.map(({ number }) => number);

const repeated = (x: readonly number[], act?: string) => toTensors({ x: Int32Array.from(x), ...(act && { act }) });
const part = (value: number) => toTensors({ y: Int32Array.of(value) });

for (const name of python === undefined ? [] : ["Repeat", "RepeatAsync"]) {
  describeStreams(`the python driver with ${name}`, {
    driver: () => "python",
    options: { ...optionsOf(name), import_path: IMPORT_PATH },
    one: { inputs: repeated([7]), parts: [part(7)] },
    several: { inputs: repeated([3, 1, 2]), parts: [3, 1, 2].map(part) },
    none: repeated([]),
    endless: repeated([], "endless"),
    failing: { inputs: repeated([1, 2, 3, 4], "throw"), parts: [1, 2, 3].map(part) },
  });
}

describe.skipIf(python === undefined).each(["Counting", "CountingAsync"])("a Python model that yields: %s", (name) => {
  const share = shareModel("python", "", { options: optionsOf(name) });

  test("answers in parts, however many there are, and has no other answer", async () => {
    const model = await share();
    expect(model.predict).toBeUndefined();
    for (const last of [0, 1, 50]) {
      expect(numbersOf(await partsOf(model, { last }))).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    }
  });

  test("gives the outputs that are wanted, and says which there are for others", async () => {
    const model = await share();
    const { parts } = await partsOf(model, { last: 1 }, { outputs: ["number"] });
    expect(parts).toEqual([{ number: 1 }]);
    const { failure } = await partsOf(model, { last: 1 }, { outputs: ["colour"] });
    expect(failure).toMatchObject({ code: "invalid_argument", message: expect.stringContaining('no output "colour"') });
  });

  test("ends where its reader leaves, and nothing of it stays", async () => {
    const model = await share();
    const call = { signature: "serving_default", signal: never } as PredictCall;
    for await (const part of model.predictStream!(toTensors({ last: 1e9 }), call)) {
      if (plain(part).number === 3) break;
    }
    expect((await partsOf(model, { last: 1 })).parts).toMatchObject([{ open: 1 }]);
  });

  test("ends when its signal aborts, also before it has begun", async () => {
    const model = await share();
    const abort = new AbortController();
    const call = { signature: "serving_default", signal: abort.signal } as PredictCall;
    const parts = model.predictStream!(toTensors({ last: 1e9 }), call)[Symbol.asyncIterator]();
    await parts.next();
    abort.abort(new ServingError("cancelled", "gone"));
    await expect(parts.next()).rejects.toThrow("gone");
    expect((await partsOf(model, { last: 3 }, { signal: abort.signal })).failure).toMatchObject({ message: "gone" });
    expect((await partsOf(model, { last: 1 })).parts).toMatchObject([{ open: 1 }]);
  });

  test.each([
    ["value_error", "invalid_argument", "no paper"],
    ["key_error", "internal", "KeyError: 'ink'"],
    ["exit", "internal", "it called sys.exit()"],
  ])("fails alone after its second part: %s", async (fault, code, text) => {
    const model = await share();
    const before = await partsOf(model, { last: 1 });
    const { parts, failure } = await partsOf(model, { last: 9, fault });
    expect(parts).toHaveLength(2);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(await partsOf(model, { last: 1 })).toEqual(before);
  });

  test("loses its answer with its process, and the next one is answered by another", async () => {
    const model = await load(name);
    const { parts, failure } = await partsOf(model, { last: 9, fault: "die" });
    expect(parts).toHaveLength(2);
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringContaining("Python process ended") });
    expect(numbersOf(await partsOf(model, { last: 2 }))).toEqual([1, 2]);
  });

  test("that takes too long for a part loses its process", async () => {
    const model = await load(name, { timeout: "1" });
    const { parts, failure } = await partsOf(model, { last: 9, fault: "sleep" });
    expect(parts).toHaveLength(2);
    expect(failure).toMatchObject({ code: "deadline_exceeded" });
    expect(numbersOf(await partsOf(model, { last: 2 }))).toEqual([1, 2]);
  });

  test("answers many at once, a part of each in turn, from all its processes", async () => {
    const model = await load(name, { processes: "2" });
    const answers = await Promise.all(Array.from({ length: 8 }, () => partsOf(model, { last: 20 })));
    for (const answer of answers)
      expect(numbersOf(answer)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const pids = answers.map(({ parts }) => new Set(parts.map(({ pid }) => pid)));
    expect(pids.every(({ size }) => size === 1)).toBe(true);
    expect(new Set(pids.flatMap((each) => [...each])).size).toBe(2);
  });
});

describe.skipIf(python === undefined)("a Python model with predict_stream", () => {
  test("has both answers where it has predict too", async () => {
    const model = await load("Both");
    const x = new Float32Array([1, 2]);
    expect((await partsOf(model, { x })).parts).toEqual([
      { y: [1], twice: [2] },
      { y: [2], twice: [4] },
    ]);
    const call = { signature: "serving_default", outputs: ["y"], signal: never } as unknown as PredictCall;
    expect(plain((await model.predict?.(toTensors({ x }), call)) ?? {})).toEqual({ y: [1, 2] });
  });

  test("may return an iterator that a thread fills", async () => {
    const model = await load("Text");
    expect((await partsOf(model, {})).parts).toEqual([{ output: "Once" }, { output: " upon" }, { output: " a time" }]);
  });

  test.each([
    ["NoIterator", 0, "predict_stream returned a list; expected a generator"],
    ["Wrong", 1, "The model returned None"],
    ["Late", 1, "it returned a float at its end; the parts of an answer are what it yields"],
  ])("fails after what was right: %s", async (name, count, text) => {
    const { parts, failure } = await partsOf(await load(name), {});
    expect(parts).toHaveLength(count);
    expect(failure).toMatchObject({ code: "internal", message: expect.stringContaining(text) });
  });

  test("awaits in all its answers at once", async () => {
    const model = await load("AtOnce");
    const answers = await Promise.all(Array.from({ length: 5 }, () => partsOf(model, { count: 5 })));
    expect(answers.map(({ parts }) => parts)).toEqual(answers.map(() => [{ here: 5 }]));
  });

  test("that awaits is cancelled when its signal aborts", async () => {
    const model = await load("CountingAsync");
    const abort = new AbortController();
    const waiting = partsOf(model, { last: 9, fault: "wait" }, { signal: abort.signal });
    await expect.poll(async () => (await partsOf(model, { last: 1 })).parts).toMatchObject([{ open: 2 }]);
    abort.abort(new ServingError("cancelled", "gone"));
    expect((await waiting).failure).toMatchObject({ message: "gone" });
    expect((await partsOf(model, { last: 1 })).parts).toMatchObject([{ open: 1 }]);
  });
});

/** Asks an asynchronous generator, and leaves it in the same turn of the event loop; prints the answers in order. */
const ASKED_AND_LEFT = `
import sys, threading
sys.path.insert(0, sys.argv[1])
from kserving_host.parts import AsyncParts

told, ended, go = [], threading.Event(), threading.Event()

def note(name):
    def tell(part, error):
        told.append(f"{name} {part} {type(error).__name__}")
        if name == "left":
            ended.set()
    return tell

async def each():
    try:
        for number in range(9):
            yield number
    finally:
        told.append("finally")

def hold():
    go.clear()
    parts._loop.call_soon_threadsafe(go.wait)

parts = AsyncParts(each())
if sys.argv[2] == "begun":
    first = threading.Event()
    parts.next(lambda part, error: first.set())
    first.wait()
    hold()
else:
    hold()
    parts = AsyncParts(each())
parts.next(note("asked"))
parts.leave(note("left"))
go.set()
ended.wait()
print(told)
`;

describe.skipIf(python === undefined)(
  "an asynchronous generator that is asked and left in one turn of its loop",
  () => {
    test.each([
      ["begun", "['finally', 'asked None CancelledError', 'left None NoneType']"],
      ["new", "['asked None CancelledError', 'left None NoneType']"],
    ])("answers both questions: %s", async (state, told) => {
      const folder = fileURLToPath(new URL("../../../python", import.meta.url));
      const { stdout } = await promisify(execFile)(python as string, ["-c", ASKED_AND_LEFT, folder, state]);
      expect(stdout.trim()).toBe(told);
    });
  },
);
