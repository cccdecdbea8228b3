import { fileURLToPath } from "node:url";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { frameBytes, frameParts } from "../../src/grpc/framed-message.ts";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { DecodeBudget } from "../../src/platform/limits/memory/decode-budget.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../../src/platform/limits/memory/memory-pool.ts";
import { decodeInferRequest, INFER_NESTING } from "../../src/protocols/kserve/grpc-request.ts";
import { inferResponseParts } from "../../src/protocols/kserve/grpc-response.ts";
import { toInputs } from "../../src/protocols/kserve/http-decode.ts";
import { parseKserveBody } from "../../src/protocols/kserve/http-request.ts";
import type { KserveAnswer } from "../../src/protocols/kserve/kserve-answer.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { floats } from "../engine/messages.ts";
import type { Comparison } from "./compare.ts";

const MAX_BYTES = 2 ** 28;
/** Bytes that HTTP/2 brings at once. */
const PIECE_BYTES = 16 * 1024;
/** One image of 224 x 224 in float32: 602 KB. */
const SHAPE = [1, 224, 224, 3];
const DATA = floats(150_528);
const INPUT = { name: "x", datatype: "FP32", shape: SHAPE };
const ANSWER: KserveAnswer = {
  model: "default",
  version: 1n,
  id: "1",
  outputs: [{ name: "y", datatype: "FP32", shape: SHAPE, tensor: createTensor("float32", SHAPE, DATA) }],
  metadata: {},
};

const { ModelInfer } = loadSync("inference/grpc_service.proto", {
  includeDirs: [fileURLToPath(new URL("../../proto", import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
})["inference.GRPCInferenceService"] as ServiceDefinition;

/** Messages and JSON of one image, read and written. */
export function codecComparisons(): Comparison[] {
  return [rawMessage(), typedMessage(), json()];
}

function rawMessage(): Comparison {
  const bytes = Buffer.from(DATA.buffer);
  const message = encode({ inputs: [INPUT], raw_input_contents: [bytes] });
  const framed = Buffer.concat(frameBytes(message));
  const pieces = Array.from({ length: Math.ceil(framed.length / PIECE_BYTES) }, (_, index) =>
    framed.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
  );
  return {
    name: "ModelInfer, 602 KB raw: put together, decode and encode",
    ours: () => {
      decodeInferRequest(receive(pieces), MAX_BYTES);
      frameParts(inferResponseParts(ANSWER, "raw"), true);
    },
    beside: () => Buffer.from(message),
    ceiling: "copy of the body",
    figure: "cost",
    target: { atMost: 1.5 },
  };
}

/**
 * The message of a call, from what its stream brought; its memory is new, as that of a message for a model in a thread.
 */
function receive(pieces: readonly Buffer[]): Uint8Array {
  const memory = new MemoryBudget(MAX_BYTES).open();
  const reader = new MessageReader({ maxBytes: MAX_BYTES, memory, pool: new MemoryPool(), nesting: INFER_NESTING });
  for (const piece of pieces) reader.add(piece);
  return reader.finish();
}

function typedMessage(): Comparison {
  const contents = { fp32_contents: Array.from(DATA) };
  const message = encode({ inputs: [{ ...INPUT, contents }] });
  const answer = { model_name: "default", outputs: [{ ...INPUT, contents }] };
  return {
    name: "ModelInfer, 602 KB typed FP32: decode and encode",
    ours: () => {
      decodeInferRequest(message, MAX_BYTES);
      frameParts(inferResponseParts(ANSWER, "typed"), true);
    },
    beside: () => {
      ModelInfer?.requestDeserialize(message);
      ModelInfer?.responseSerialize(answer);
    },
    ceiling: "protobufjs",
    figure: "speed",
    target: { atLeast: 8 },
  };
}

function encode(message: object): Buffer {
  return ModelInfer?.requestSerialize({ model_name: "default", ...message }) as Buffer;
}

function json(): Comparison {
  const rows = Array.from({ length: 224 }, (_, y) => Array.from({ length: 224 }, (_, x) => pixel(3 * (224 * y + x))));
  const text = Buffer.from(JSON.stringify({ inputs: [{ ...INPUT, data: [rows] }] }));
  return {
    name: `JSON of 150 528 floats, nested, ${(text.length / 1e6).toFixed(1)} MB: to a tensor`,
    ours: () => {
      const budget = new DecodeBudget(MAX_BYTES);
      toInputs(parseKserveBody(text, budget).inputs, new Uint8Array(0), { model: "default", budget });
    },
    beside: () => {
      const [{ data }] = JSON.parse(text.toString()).inputs;
      return Float32Array.from(data.flat(Number.POSITIVE_INFINITY));
    },
    ceiling: "JSON.parse and flat()",
    figure: "speed",
    target: { atLeast: 2.5 },
  };
}

function pixel(at: number): number[] {
  return Array.from(DATA.subarray(at, at + 3), (value) => Number(value.toPrecision(7)));
}
