import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { QuickModel } from "../../../src/drivers/driver.ts";
import { failedPrecondition, ServingError } from "../../../src/errors.ts";
import { FastLane } from "../../../src/models/fast-lane/fast-lane.ts";
import { LaneMark } from "../../../src/models/fast-lane/lane-mark.ts";
import type { ModelCall } from "../../../src/models/model-handle.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { Timeline } from "../../../src/observability/timeline.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";

const SPEC = { name: "x", dtype: "float32", shape: [-1] } as const;
const FACTS = {
  driver: "toy",
  path: "toy.onnx",
  signatures: { serving_default: { inputs: [SPEC] } },
  defaultSignature: "serving_default",
};
const MAX_MS = 0.5;

/** The clock of the lane, which only runs move: on a busy machine any of them may take long. */
let clock = 0;
beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => clock);
});
afterEach(() => vi.restoreAllMocks());

const call = (more: Partial<ModelCall> = {}): ModelCall => {
  return { signature: "serving_default", signal: new CancelSource(), ...more };
};
const inputs = (...values: number[]) =>
  createTensors([["x", createTensor("float32", [values.length], Float32Array.from(values))]]);

/** Doubles x; a 9 takes longer than a run in the main thread may, and a 13 fails. */
const DOUBLES: QuickModel = {
  run: ({ x }) => {
    const [first] = x!.data;
    if (first === 13) throw new Error("unlucky");
    clock += first === 9 ? 2 * MAX_MS : MAX_MS / 100;
    return inputs(2 * Number(first));
  },
  close: async () => {},
};

function openLane(open = async () => DOUBLES): FastLane {
  return new FastLane({ facts: FACTS, maxMs: MAX_MS, open, mark: new LaneMark(), log: createSilentLogger() });
}

/** Runs as the model's own thread reports them; gives how many were timed. */
function runElsewhere(lane: FastLane, given: Tensors, { count = 8, ms = 0.1 } = {}): number {
  let timed = 0;
  for (let run = 0; run < count; run++) {
    const trial = lane.observe(given, call());
    if (trial === undefined) continue;
    timed++;
    trial.timeline.add("model", 0, ms);
    trial.end();
  }
  return timed;
}

/** A lane that runs inputs of one value. */
async function openedLane(): Promise<FastLane> {
  const lane = openLane();
  runElsewhere(lane, inputs(1));
  await new Promise(setImmediate);
  return lane;
}

describe("the fast lane", () => {
  test("runs a model after some fast runs in the model's own thread", async () => {
    const lane = openLane();
    runElsewhere(lane, inputs(1), { count: 7 });
    await new Promise(setImmediate);
    expect(lane.run(inputs(4), call())).toBeUndefined();
    runElsewhere(lane, inputs(1), { count: 1 });
    await new Promise(setImmediate);
    expect(lane.run(inputs(4), call())?.x?.data).toEqual(Float32Array.of(8));
    expect(lane.statistics()).toMatchObject({ requests: 1, queueMs: 0 });
  });

  test("runs nothing where the model fails on the zeros that it is tried with", async () => {
    const noZeros: QuickModel = {
      ...DOUBLES,
      run: (given) => {
        if (given.x?.data[0] === 0) throw new Error("The input tensor cannot be reshaped to the requested shape");
        return DOUBLES.run(given);
      },
    };
    const lane = openLane(async () => noZeros);
    runElsewhere(lane, inputs(1));
    await new Promise(setImmediate);
    expect(lane.run(inputs(4), call())).toBeUndefined();
  });

  test("leaves a model alone whose own thread needs long", async () => {
    const lane = openLane();
    runElsewhere(lane, inputs(1), { ms: 3 });
    await new Promise(setImmediate);
    expect(lane.run(inputs(4), call())).toBeUndefined();
  });

  test("ends with the first slow run; where many were fast before, the next turn measures again", async () => {
    const lane = await openedLane();
    for (let run = 0; run < 8; run++) expect(lane.run(inputs(run), call())).toBeDefined();
    expect(lane.run(inputs(9), call())?.x?.data).toEqual(Float32Array.of(18));
    expect(lane.run(inputs(4), call())).toBeUndefined();
    await new Promise(setImmediate);
    expect(lane.run(inputs(4), call())?.x?.data).toEqual(Float32Array.of(8));
  });

  test("rests after a slow run that followed few fast ones, each time for longer", async () => {
    const lane = await openedLane();
    for (const rest of [16, 32]) {
      expect(lane.run(inputs(9), call())).toBeDefined();
      expect(runElsewhere(lane, inputs(4), { count: rest })).toBe(0);
      expect(lane.run(inputs(4), call())).toBeUndefined();
      expect(runElsewhere(lane, inputs(4), { count: 100 })).toBe(8);
      await new Promise(setImmediate);
    }
    expect(lane.run(inputs(4), call())).toBeDefined();
  });

  test("takes only inputs of shapes that were fast", async () => {
    const lane = await openedLane();
    const integers = createTensors([["x", createTensor("int32", [1], Int32Array.of(1))]]);
    const taken = [inputs(1, 2), integers, createTensors(), { ...inputs(1), y: inputs(1).x! }].map(
      (given) => lane.run(given, call()) !== undefined,
    );
    expect(taken).toEqual([false, false, false, false]);
  });

  test.each<[string, Partial<ModelCall>]>([
    ["that wants some outputs", { outputs: ["x"] }],
    ["of another signature", { signature: "other" }],
    ["for parts of the graph", { targets: [] }],
    ["with an image of a hook", { limits: { fromHook: true } }],
    ["that warms up a certain copy", { limits: { warmUp: 0 } }],
    ["whose runs are logged", { requestId: "7" }],
  ])("leaves a call %s to the model's own thread", async (_, more) => {
    const lane = await openedLane();
    expect(lane.run(inputs(1), call(more))).toBeUndefined();
    expect(lane.observe(inputs(1), call(more))).toBeUndefined();
  });

  test("does not run for a client that has left", async () => {
    const lane = await openedLane();
    const signal = new CancelSource();
    signal.abort();
    expect(lane.run(inputs(1), call({ signal }))).toBeUndefined();
  });

  test("takes no more of a turn than its share, and the rest waits for the model's own thread", async () => {
    const lane = await openedLane();
    await new Promise(setImmediate);
    let runs = 0;
    while (runs < 1_000_000 && lane.run(inputs(1), call()) !== undefined) runs++;
    expect(runs).toBeLessThan(1_000_000);
    await new Promise(setImmediate);
    expect(lane.run(inputs(1), call())).toBeDefined();
  });

  test("fails as the model's own thread does, and takes down its parts", async () => {
    const lane = await openedLane();
    const timeline = new Timeline();
    const error = new ServingError("internal", "The toy model failed: unlucky");
    expect(() => lane.run(inputs(13), call({ timeline }))).toThrow(error);
    expect(timeline.intervals.map(({ kind }) => kind)).toEqual(["queue", "model"]);
  });

  test("stays shut where the model cannot be loaded a second time", async () => {
    const lane = openLane(() => Promise.reject(failedPrecondition("no copies")));
    runElsewhere(lane, inputs(1));
    await new Promise(setImmediate);
    expect(lane.run(inputs(1), call())).toBeUndefined();
    expect(lane.observe(inputs(1), call())).toBeUndefined();
  });

  test("frees its copy when it is closed, also one that is still loading", async () => {
    let closed = 0;
    const open = async () => ({ ...DOUBLES, close: async () => void closed++ });
    for (const turns of [0, 1]) {
      const lane = openLane(open);
      runElsewhere(lane, inputs(1));
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      await lane.close();
      await new Promise(setImmediate);
      expect(lane.run(inputs(1), call())).toBeUndefined();
    }
    expect(closed).toBe(2);
  });
});
