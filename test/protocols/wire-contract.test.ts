import { describe, expect, onTestFinished, test } from "vitest";
import { type ErrorCode, STATUS } from "../../src/errors.ts";
import { defineHooks, type Hook } from "../../src/hooks/hooks.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type { Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import type { LocalService } from "../../src/serving/local-service.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { type Question, WIRES, type Wire, type WireName } from "./wires.ts";

/** An error's text, after its code if that is not the fault's. */
type Told = string | RegExp | readonly [ErrorCode, string];

/** Something that may be wrong, and how it is told. */
interface Fault {
  readonly question?: Question;
  readonly options?: Partial<ServerOptions>;
  /** Options and arrangement of a server with its own state. */
  readonly prepare?: () => Pick<Fault, "options" | "arrange">;
  /** Brings the server into its state. */
  readonly arrange?: (server: Server) => unknown;
  readonly code: ErrorCode;
  /** HTTP's status if it is not the code's. */
  readonly httpStatus?: number;
  /** True if the call fails before there is a request. */
  readonly endsStream?: boolean;
  /** The error by wire, else by protocol, else for all. One that has none cannot be asked so, and answers well. */
  readonly texts: Readonly<
    Partial<
      Record<
        WireName | "tensorflow-serving" | "kserve" | "kibernetika" | "sagemaker" | "simple-tensorflow-serving" | "all",
        Told
      >
    >
  >;
}

const SPEC = [{ name: "x", dtype: "float32", shape: [-1] }] as const;
const hooksOf = (preprocess: Hook) => defineHooks({ inputs: SPEC, outputs: SPEC, preprocess });
const forever = () => new Promise<never>(() => {});
const failing = () => {
  throw new Error("no face");
};

const FAULTS: Readonly<Record<string, Fault>> = {
  "an unknown model": {
    question: { model: "no" },
    code: "not_found",
    texts: {
      "tensorflow-serving": "Servable not found for request: Latest(no). This server has default.",
      sagemaker: "Servable not found for request: Latest(no). This server has default.",
      "simple-tensorflow-serving": ["invalid_argument", "Invalid model name: no, available models: ['default']"],
      kserve: "Request for unknown model: 'no' is not found. This server has default.",
    },
  },
  "an unknown version": {
    question: { version: "9" },
    code: "not_found",
    texts: {
      "tensorflow-serving": "Servable not found for request: Specific(default, 9). Model default has version 1.",
      kserve: "Request for unknown model: 'default' version 9 is not found. It has version 1.",
      sagemaker: "Servable not found for request: Specific(default, 9). Model default has version 1.",
      "simple-tensorflow-serving": "Servable not found for request: Specific(default, 9). Model default has version 1.",
      "Kibernetika HTTP": "Servable not found for request: Specific(default, 9). Model default has version 1.",
    },
  },
  "a model that is not loaded": {
    arrange: ({ service }) => service.unload("default"),
    code: "not_found",
    texts: {
      all: "Servable not found for request: Latest(default). It is not loaded.",
      kserve: "Request for unknown model: 'default' has no available versions",
    },
  },
  "a version that is not loaded": {
    question: { version: "1" },
    arrange: ({ service }) => service.unload("default"),
    code: "not_found",
    texts: {
      all: "Servable not found for request: Latest(default). It is not loaded.",
      "tensorflow-serving": "Servable not found for request: Specific(default, 1). It is not loaded.",
      sagemaker: "Servable not found for request: Specific(default, 1). It is not loaded.",
      "simple-tensorflow-serving": "Servable not found for request: Specific(default, 1). It is not loaded.",
      "Kibernetika HTTP": "Servable not found for request: Specific(default, 1). It is not loaded.",
      kserve: ["unavailable", "Request for unknown model: 'default' version 1 is not at ready state"],
    },
  },
  "a model that was unloaded while it was idle, and does not load again": {
    prepare: unloadBroken,
    code: "unavailable",
    texts: {
      all: "Version 1 of the model default was unloaded while it was idle, and cannot be loaded again: The hooks object: init_hook failed: no weights in (path)",
    },
  },
  "an unknown signature": {
    question: { signature: "no" },
    code: "failed_precondition",
    texts: {
      "TensorFlow Serving gRPC": 'Serving signature key "no" not found.',
      "PredictStreamed gRPC": 'Serving signature key "no" not found.',
      "TensorFlow Serving HTTP": 'Serving signature name: "no" not found in signature def',
      sagemaker: 'Serving signature name: "no" not found in signature def',
      "simple-tensorflow-serving": [
        "invalid_argument",
        "Fail to request the signature name: no, please check the request JSON",
      ],
      "Regress gRPC": ["invalid_argument", "No signature was found with the name: no. The model has serving_default."],
      "Regress HTTP": ["invalid_argument", "No signature was found with the name: no. The model has serving_default."],
      "MultiInference gRPC": ["invalid_argument", "Requested signature not found in model graph: no"],
      kserve: 'Serving signature key "no" not found. There is serving_default.',
      "Kibernetika HTTP": 'Serving signature key "no" not found. There is serving_default.',
    },
  },
  "an unknown output": {
    question: { output: "z" },
    code: "invalid_argument",
    texts: {
      "TensorFlow Serving gRPC": "output tensor alias not found in signature: z Outputs expected to be in the set {x}.",
      "PredictStreamed gRPC": "output tensor alias not found in signature: z Outputs expected to be in the set {x}.",
      "TensorFlow Serving HTTP": "output tensor alias not found in signature: z Outputs expected to be in the set {x}.",
      sagemaker: "output tensor alias not found in signature: z Outputs expected to be in the set {x}.",
      kserve: "unexpected inference output 'z' for model 'default'. The model gives 'x' FP32 [-1].",
      "Kibernetika HTTP": "output tensor alias not found in signature: z Outputs expected to be in the set {x}.",
    },
  },
  "a message that cannot be read": {
    question: { isMalformed: true },
    code: "invalid_argument",
    texts: {
      "TensorFlow Serving gRPC": "Malformed PredictRequest: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "PredictStreamed gRPC": "Malformed PredictRequest: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "Regress gRPC":
        "Malformed ClassificationRequest or RegressionRequest: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "Regress HTTP": "JSON Parse error: Missing a name for object member. at offset: 1",
      "MultiInference gRPC": "Malformed MultiInferenceRequest: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "TensorFlow Serving HTTP": "JSON Parse error: Missing a name for object member. at offset: 1",
      kserve: "Malformed ModelInferRequest: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "KServe HTTP": "failed to parse the request JSON buffer: Missing a name for object member. at 1",
      sagemaker: "JSON Parse error: Missing a name for object member. at offset: 1",
      "Kibernetika HTTP": "JSON Parse error: Missing a name for object member. at offset: 1",
      "PredictJSON gRPC": "Malformed PredictJSONData: a field claims 99 bytes, 0 are left (byte 2 of 2).",
      "simple-tensorflow-serving": /^Invalid json data: .* at offset: 1$/,
      "PredictJSON HTTP": /^The body is not JSON: .* position 1/,
    },
  },
  "a message that is too large": {
    options: { maxMessageBytes: 1000 },
    question: { count: 1000 },
    code: "resource_exhausted",
    httpStatus: 413,
    endsStream: true,
    texts: {
      all: /^(?:Received message larger than max \(\d{4,5} vs 1000\)|The body is larger than 1000 bytes, the most .*)$/,
    },
  },
  "a hook that fails": {
    options: { hooks: hooksOf(failing) },
    code: "internal",
    texts: { all: "The hook preprocess failed: no face" },
  },
  "a deadline that passes": {
    options: { hooks: hooksOf(forever), requestTimeoutMs: 30 },
    code: "deadline_exceeded",
    texts: {
      all: "The request's deadline passed.",
      "TensorFlow Serving HTTP": "Timed out waiting for notification. The request's deadline passed.",
      "Regress HTTP": "Timed out waiting for notification. The request's deadline passed.",
    },
  },
  "a hook that takes too long": {
    options: { hooks: hooksOf(forever), hookTimeoutMs: 30 },
    code: "deadline_exceeded",
    texts: {
      all: "The hook preprocess has not returned within 30 ms (--hook-timeout); does its promise ever settle?",
    },
  },
  "a queue that is full": {
    options: { maxQueue: 1 },
    arrange: fillQueue,
    code: "unavailable",
    texts: { all: /already \(--max-queue\); try again later\.$/ },
  },
  "a server that shuts down": {
    arrange: ({ service }) => (service as LocalService).admission.close(),
    code: "unavailable",
    texts: { all: "The server is shutting down; send the request to another." },
  },
};

function fillQueue({ service }: Server): void {
  const { admission } = service as LocalService;
  const admitted = admission.enter({ id: "1", model: "default" });
  onTestFinished(() => admission.leave(admitted));
}

function unloadBroken(): Pick<Fault, "options" | "arrange"> {
  const { log, find } = createEventLog();
  let loads = 0;
  const init_hook = () => {
    if (++loads > 1) throw new Error("no weights in /models/face.bin");
  };
  const hooks = defineHooks({ init_hook, inputs: SPEC, outputs: SPEC, preprocess: (inputs) => inputs });
  return { options: { idleUnloadMs: 1, hooks, log }, arrange: () => find({ msg: "model unloaded" }) };
}

/** A server of `x`, which it gives back. */
function serveX(options: Partial<ServerOptions> = {}) {
  return startServer({ stages: [{ driver: "null" }], hooks: hooksOf((inputs) => inputs), ...options });
}

const NAMES = Object.keys(WIRES) as WireName[];

test.each(NAMES.filter((name) => ["kserve", "tensorflow-serving"].includes(WIRES[name].protocol)))(
  "outputs that there are not are left out where that is wanted, over %s",
  async (name) => {
    const wire: Wire = WIRES[name];
    const server = await serveX({ ignoreUnknownOutputs: true });
    expect(await wire.ask(server, { output: "z" })).toEqual(ANSWERED[wire.transport]);
  },
);

describe.each(Object.entries(FAULTS))("%s", (_, { question = {}, texts, ...fault }) => {
  test.each(NAMES)("over %s", async (name) => {
    const wire: Wire = WIRES[name];
    const { options, arrange } = fault.prepare?.() ?? fault;
    const server = await serveX(options);
    await arrange?.(server);
    const told = texts[name] ?? texts[wire.protocol as "kserve"] ?? texts.all;
    expect(await wire.ask(server, question)).toEqual(
      told === undefined ? ANSWERED[wire.transport] : failed(wire, fault, told),
    );
  });
});

const ANSWERED = { grpc: [0, ""], http: [200, ""] };

type Failure = Pick<Fault, "code" | "httpStatus" | "endsStream">;

function failed({ transport, errorsAreMessages }: Wire, fault: Failure, told: Told): unknown[] {
  const [code, text] = Array.isArray(told) ? told : [fault.code, told];
  const error = text instanceof RegExp ? expect.stringMatching(text) : text;
  if (transport === "http") return [fault.httpStatus ?? STATUS[code as ErrorCode].http, error];
  return [errorsAreMessages && !fault.endsStream ? 0 : STATUS[code as ErrorCode].grpc, error];
}

test.each(NAMES)("a client that cancels over %s stops its request, and the log says so", async (name) => {
  const { log, find } = createEventLog();
  const controller = new AbortController();
  const cancelled = new Promise<string>((resolve) => {
    const preprocess: Hook = (_inputs, { signal }) => {
      signal.addEventListener("abort", () => resolve(signal.reason.name));
      controller.abort();
      return forever();
    };
    void serveX({ hooks: hooksOf(preprocess), log, accessLog: true }).then((server) =>
      WIRES[name].ask(server, { signal: controller.signal }).catch(() => {}),
    );
  });
  expect(await cancelled).toBe("AbortError");
  const { status } = await find({ msg: "request" });
  expect(status).toBe(STATUS.cancelled[WIRES[name].transport]);
});

test("every gRPC method that infers is checked against this contract", () => {
  const options = { maxMessageBytes: 1000, settings: sliceSettings({}).protocols, log: createSilentLogger() } as never;
  const routes = PROTOCOLS.flatMap(({ grpc }) => Object.entries(grpc?.(new ScriptedService(), options).routes ?? {}));
  // Classify goes the way of Regress, but answers rows; SessionRun runs TensorFlow graphs alone, without
  // hooks. Those of shared memory run nothing, and CallFunction takes texts in place of tensors.
  const isOwn = (path: string) => !/\/(?:Classify|SessionRun|CallFunction|.*SharedMemory.*)$/.test(path);
  const methods = routes.filter(([path, { kind }]) => kind === "inference" && isOwn(path)).map(([path]) => path);
  const wires = Object.values(WIRES).filter(({ transport }) => transport === "grpc");
  expect(wires.map(({ path }) => path).toSorted()).toEqual(methods.toSorted());
});

test("every protocol that infers over HTTP is checked against this contract", () => {
  const infer = ({ http }: Protocol) =>
    (http?.({ service: new ScriptedService(), settings: sliceSettings({}).protocols } as never).inference ?? [])
      .length > 0;
  const wires = Object.values(WIRES).filter(({ transport }) => transport === "http");
  // These take texts in place of tensors, and have their errors in their folders.
  const ofTexts = ["openai", "anthropic", "ollama"];
  const names = PROTOCOLS.filter(infer).flatMap(({ name }) => (ofTexts.includes(name) ? [] : name));
  expect(new Set(wires.map(({ protocol }) => protocol))).toEqual(new Set(names));
});
