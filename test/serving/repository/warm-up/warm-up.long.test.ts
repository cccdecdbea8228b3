import { getEventListeners } from "node:events";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { frameRecord } from "../../../../src/observability/request-log/logged-request.ts";
import { recordedRequest } from "../../../../src/protocols/tensorflow-serving/examples/example-request.ts";
import { writeFeatures } from "../../../../src/protocols/tensorflow-serving/examples/features.ts";
import { NO_MODEL_SPEC } from "../../../../src/protocols/tensorflow-serving/model-spec.ts";
import {
  encodePredictionLog,
  type LogKind,
} from "../../../../src/protocols/tensorflow-serving/prediction-log-message.ts";
import { loadServable, type ServableSource } from "../../../../src/serving/repository/load-servable.ts";
import type { Servable } from "../../../../src/serving/servable.ts";
import { createTensor, createTensors } from "../../../../src/tensor/tensor.ts";
import { missingRuntime } from "../../../drivers/missing-runtime.ts";
import { tensorflowRuntime } from "../../../drivers/tensorflow/native/tensorflow-runtime.ts";
import { createEventLog } from "../../../helpers/event-log.ts";
import { loadOptions } from "../../../helpers/load-options.ts";
import { run } from "../../../helpers/run-pipeline.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const missing = await missingRuntime("Warm-up requests of SavedModels", tensorflowRuntime);

/**
 * Adds up what it is asked, from 3 on; real TensorFlow has written requests for 10 and
 * 20 beside it, and an empty one between them.
 */
const COUNTER = "test/fixtures/tensorflow/counter_with_requests";
const REQUESTS = "assets.extra/tf_serving_warmup_requests";
const HALF = "test/fixtures/models/half-plus-two.onnx";
const RECORDS = readFileSync(join(COUNTER, REQUESTS));
/** Bytes of its records: 12 before and 4 after each content. */
const [FIRST, SECOND] = [12 + 36 + 4, 12 + 0 + 4];

/** Loads as the server does, and keeps what is logged. */
async function load(source: Partial<ServableSource>, settings: object = {}) {
  const { log, events: lines } = createEventLog();
  const all = { name: "m", version: 1n, stages: [], options: {}, ...source };
  const { servable } = await loadServable(all, { ...loadOptions(log), ...settings });
  onTestFinished(() => servable.close());
  return { servable, lines };
}

/** The counter with other requests. */
function counterWith(requests: Uint8Array): Partial<ServableSource> {
  const path = tempFolder();
  cpSync(COUNTER, path, { recursive: true });
  writeFileSync(join(path, REQUESTS), requests);
  return { stages: [{ path }] };
}

async function totalAfter(servable: Servable, value: number): Promise<unknown> {
  const tensors = createTensors([["x", createTensor("float32", [1], Float32Array.of(value))]]);
  const { outputs } = await run(servable, { kind: "tensors", tensors });
  return outputs.kind === "tensors" && outputs.tensors.total?.data[0];
}

/** Statistics of a servable that no client has asked yet. */
const UNASKED = { requests: { succeeded: { count: 0 }, failed: { count: 0 } }, runs: { requests: 0, runs: [] } };

describe.skipIf(missing !== undefined)("the requests that a SavedModel brings along", () => {
  it("run on each copy, and count nowhere", async () => {
    const { servable, lines } = await load({ stages: [{ path: COUNTER }] }, { instances: 2 });
    expect(await servable.statistics()).toMatchObject(UNASKED);
    expect([await totalAfter(servable, 1), await totalAfter(servable, 1)]).toEqual([34, 34]);
    expect(lines.filter(({ level }) => level === "warn")).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ msg: "model warmed up", requests: 2 }));
  });

  it("run as often as is said", async () => {
    const three = await load({ stages: [{ path: COUNTER }] }, { savedModelWarmup: 3 });
    expect(await totalAfter(three.servable, 1)).toBe(3 + 3 * 30 + 1);
    const none = await load({ stages: [{ path: COUNTER }] }, { savedModelWarmup: 0 });
    expect(await totalAfter(none.servable, 1)).toBe(3 + 1);
  });

  it.each([
    ["session_run_log", 5],
    ["predict_streamed_log", 7],
  ] as const)("fail the load with a %s among them, as in TensorFlow Serving", async (kind, field) => {
    const other = frameRecord(
      encodePredictionLog({ kind, request: new Uint8Array() }, { spec: NO_MODEL_SPEC, rate: 1 }),
    );
    await expect(load(counterWith(Buffer.concat([RECORDS, other])))).rejects.toMatchObject({
      code: "unimplemented",
      message: `Unsupported log_type for warmup: ${field}. Record 4 of ${REQUESTS} is a ${kind}.`,
    });
  });

  it("run on a stage's own model, whatever its hooks take", async () => {
    const hooks = { preprocess: () => ({ x: Float32Array.of(2) }) };
    const { servable } = await load({ stages: [{ path: COUNTER }], hooks });
    expect(await totalAfter(servable, 1)).toBe(35);
  });

  const damaged: readonly (readonly [string, Uint8Array, string])[] = [
    ["cut within a record", RECORDS.subarray(0, RECORDS.length - 1), "Record 3 of"],
    ["cut within a length", RECORDS.subarray(0, FIRST + 5), "Record 2 of"],
    [
      "of another content",
      flipped(FIRST + SECOND + 20),
      "Record 3 of assets.extra/tf_serving_warmup_requests has a wrong",
    ],
    [
      "of another length",
      flipped(FIRST),
      "Record 2 of assets.extra/tf_serving_warmup_requests has a length with a wrong",
    ],
    ["that is compressed", Buffer.from("1f8b0800000000000003010203040506", "hex"), "is compressed by gzip"],
  ];
  it.each(damaged)("in a file %s fail the load", async (_, requests, message) => {
    await expect(load(counterWith(requests))).rejects.toMatchObject({
      code: "data_loss",
      message: expect.stringContaining(message),
    });
    await expect(load(counterWith(requests))).rejects.toThrow("Please verify your warmup data is in TFRecord format.");
  });

  it("are a thousand at most", async () => {
    const empty = RECORDS.subarray(FIRST, FIRST + SECOND);
    await load(counterWith(Buffer.concat(new Array(1000).fill(empty))));
    await expect(load(counterWith(Buffer.concat(new Array(1001).fill(empty))))).rejects.toThrow(
      "Number of warmup records exceeds the maximum (1000)",
    );
  });

  it("that fail, fail the load with the text of Predict", async () => {
    const path = tempFolder();
    cpSync("test/fixtures/tensorflow/matrices", path, { recursive: true });
    mkdirSync(join(path, "assets.extra"));
    writeFileSync(join(path, REQUESTS), RECORDS);
    await expect(load({ stages: [{ path }] })).rejects.toThrow(
      /^Record 1 of assets.extra\/tf_serving_warmup_requests failed: input size does not match signature/,
    );
  });
});

/** The records with one bit changed. */
function flipped(position: number): Uint8Array {
  const copy = Uint8Array.from(RECORDS);
  copy[position]! ^= 1;
  return copy;
}

describe("request files", () => {
  /** Answers how often its thread was asked. */
  const COUNTING = "let asked = 0; export const process = () => ({ asked: BigInt(++asked) });";

  it("of either protocol run in every hook thread, as often as is said", async () => {
    const folder = tempFolder({
      "hooks.ts": COUNTING,
      "v2.json": '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [2]}]}',
      "rows.json": '{"instances": [1, 2]}',
    });
    const entry = { kind: "file" } as const;
    const { servable } = await load(
      {
        stages: [{ driver: "null" }],
        hooks: `${folder}/hooks.ts`,
        warmUp: [
          { ...entry, path: `${folder}/v2.json`, count: 3 },
          { ...entry, path: `${folder}/rows.json`, count: 1 },
        ],
      },
      { workers: 2 },
    );
    expect(await servable.statistics()).toMatchObject(UNASKED);
    const { outputs } = await run(servable, { kind: "tensors", tensors: createTensors() });
    expect(outputs.kind === "tensors" && outputs.tensors.asked?.data[0]).toBe(5n);
  });

  it.each([
    ["is not there", "nothing.json", "does not exist; expected a file."],
    ["is no JSON", "hooks.ts", "failed to parse the request JSON buffer"],
    ["has another input", "other.json", "unexpected inference input 'z' for model 'm'"],
    ["has another signature", "signature.json", 'Serving signature name: "other" not found'],
  ])("that %s fail the load", async (_, name, message) => {
    const folder = tempFolder({
      "hooks.ts": COUNTING,
      "other.json": '{"inputs": [{"name": "z", "datatype": "FP32", "shape": [1], "data": [2]}]}',
      "signature.json": '{"instances": [1], "signature_name": "other"}',
    });
    const path = join(folder, name);
    const loading = load({ stages: [{ path: HALF }], warmUp: [{ kind: "file", path, count: 1 }] });
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toThrow(`The warm-up request ${path}`);
  });
});

describe("request logs", () => {
  const x = (value: number) => new Map([["x", { kind: "float", values: [value] } as const]]);
  const examples = createTensor("bytes", [2], [writeFeatures(x(1)), writeFeatures(x(2))]);
  const spec = { ...NO_MODEL_SPEC, model: "m" };
  const log = (kind: LogKind, request: Uint8Array) =>
    frameRecord(encodePredictionLog({ kind, request }, { spec, rate: 1 }));
  const task = { spec, method: "" };
  const multi = { spec, method: "tensorflow/serving/regress" };
  const LOG = Buffer.concat([
    log("regress_log", recordedRequest({ tasks: [task], examples }).encode()),
    log("classify_log", recordedRequest({ tasks: [task], examples }).encode()),
    log("multi_inference_log", recordedRequest({ tasks: [multi, multi], examples }).encode()),
    log("session_run_log", new Uint8Array()),
  ]);
  /** Keeps what it is given, which it shares with its copies. */
  const hooksOf = (seen: unknown[]) => ({
    inputs: [{ name: "x", dtype: "float32", shape: [-1, 1] }] as const,
    process: ({ x }: Record<string, unknown>) => {
      seen.push(...(x as { data: Float32Array }).data);
      return { y: 1 };
    },
  });

  it("run through the pipeline, those of examples too", async () => {
    const folder = tempFolder({ "log.tfrecord": LOG });
    const seen: unknown[] = [];
    const { lines } = await load(
      {
        stages: [{ driver: "null" }],
        hooks: hooksOf(seen),
        warmUp: [{ kind: "file", path: `${folder}/log.tfrecord`, count: 2 }],
      },
      { workers: 0 },
    );
    expect(seen).toEqual(new Array(8).fill([1, 2]).flat());
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", msg: expect.stringContaining("session_run_log (1)") }),
    );
  });

  it("that are cut, or whose requests fail, fail the load and say which it is", async () => {
    const folder = tempFolder({ "cut.tfrecord": LOG.subarray(0, LOG.length - 1), "log.tfrecord": LOG });
    const warmUp = (name: string) => [{ kind: "file", path: `${folder}/${name}`, count: 1 } as const];
    const stages = [{ driver: "null" }];
    const cut = load({ stages, hooks: hooksOf([]), warmUp: warmUp("cut.tfrecord") }, { workers: 0 });
    await expect(cut).rejects.toThrow(`Record 4 of ${folder}/cut.tfrecord is cut`);
    const hooks = { inputs: [{ name: "z", dtype: "float32" }] as const, process: () => ({}) };
    const failing = load({ stages, hooks, warmUp: warmUp("log.tfrecord") }, { workers: 0 });
    await expect(failing).rejects.toThrow(`Record 1 of ${folder}/log.tfrecord failed: Feature: z`);
  });
});

describe("random values", () => {
  it("are such as each model of the pipeline runs on", async () => {
    const stages = [{ path: HALF }, { path: "test/fixtures/models/identity-float32.onnx" }];
    const { servable, lines } = await load({ stages, warmUp: [{ kind: "random", count: 3 }] });
    expect(lines).toContainEqual(expect.objectContaining({ msg: "model warmed up", requests: 6 }));
    expect(await servable.statistics()).toMatchObject(UNASKED);
  });

  it("end with their load, whose signal has no listeners afterwards", async () => {
    const { signal } = new AbortController();
    await load({ stages: [{ path: HALF }], warmUp: [{ kind: "random", count: 1 }] }, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const given = { stages: [{ path: HALF }], warmUp: [{ kind: "random", count: 1 }] } as const;
    await expect(load(given, { signal: AbortSignal.abort(new Error("given up")) })).rejects.toThrow("given up");
  });

  it("that no model runs on are reported, and fail no load", async () => {
    const folder = tempFolder({
      "choosy.mjs": `export default {
        name: "choosy",
        options: {},
        load: async () => ({
          signatures: { serving_default: { inputs: [{ name: "x", dtype: "float32", shape: [1] }] } },
          predict: async () => { throw new Error("x is not a prime"); },
          close: async () => {},
        }),
      }`,
    });
    const stages = [{ driver: `${folder}/choosy.mjs`, path: folder }];
    const { lines } = await load({ stages, warmUp: [{ kind: "random", count: 1 }] });
    expect(lines.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(
        /^No random inputs were found on which .* runs, .*: The choosy model failed: x is not a prime/,
      ),
    );
  });
});
