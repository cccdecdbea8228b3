import { describe, expect, it } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import {
  decodePredictRequest,
  decodePredictResponse,
  encodePredictRequest,
  type PredictRequest,
  predictResponseParts,
} from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import type { VersionEncoding } from "../../../src/protocols/tensorflow-serving/model-spec.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textField,
} from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DTYPES } from "../../../src/tensor/dtype.ts";
import { isRecord } from "../../../src/tensor/record.ts";
import { createTensor, createTensors, type Tensors } from "../../../src/tensor/tensor.ts";
import { oracle } from "../../grpc/oracle.ts";
import { comparable, contentProto, typedProto } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";
import { raw } from "../../grpc/raw-part.ts";

const MEGABYTE = 1024 * 1024;
const scalar = createTensor("float32", [], Float32Array.of(1.5));
const scalarProto = encodeMessage([integerField(1, 1), bytesField(5, new Uint8Array(Float32Array.of(1.5).buffer))]);

function decode(bytes: Uint8Array, maxBytes = MEGABYTE): PredictRequest {
  return decodePredictRequest(bytes, maxBytes);
}

function entry(key: string, ...values: Uint8Array[]) {
  return messageField(2, [textField(1, key), ...values.map((value) => bytesField(2, value))]);
}

function comparables(tensors: Tensors) {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, comparable(tensor)]));
}

describe("a PredictRequest", () => {
  it("from protobufjs is read with all that it says, whatever its tensors", () => {
    const random = new Random(7);
    for (let round = 0; round < 100; round++) {
      const names = Array.from({ length: random.below(5) }, (_, index) => `input ${index} ${random.below(1000)} ü`);
      const tensors = createTensors(names.map((name) => [name, random.tensor(random.pick(DTYPES))]));
      const inputs = Object.entries(tensors).map(([name, tensor]) => {
        return [name, random.below(2) === 0 ? typedProto(tensor) : contentProto(tensor)];
      });
      const model_spec = { name: "m", version: { value: "9007199254740993" }, signature_name: "s" };
      const bytes = oracle.encodeRequest({ model_spec, inputs: Object.fromEntries(inputs), output_filter: ["a", ""] });
      const { inputs: read, ...rest } = decode(bytes);
      expect(comparables(read)).toEqual(comparables(tensors));
      expect(rest).toEqual({
        spec: { model: "m", version: 9007199254740993n, signature: "s", versionEncoding: "int64" },
        outputFilter: ["a", ""],
      });
    }
  });

  it("of ours is read by protobufjs, and by us, with all that it says", () => {
    const random = new Random(8);
    for (let round = 0; round < 100; round++) {
      const inputs = createTensors([["x", random.tensor(random.pick(DTYPES))]]);
      const spec = { model: "m", label: "canary", signature: "s", versionEncoding: "int64" } as const;
      const request = { spec, outputFilter: ["a"], inputs };
      const bytes = encodePredictRequest(request, random.pick(["typed", "content"]));
      expect(oracle.decodeRequest(bytes)).toMatchObject({
        model_spec: { name: "m", version_label: "canary", signature_name: "s" },
        output_filter: ["a"],
      });
      const read = decode(bytes);
      expect({ ...read, inputs: comparables(read.inputs) }).toEqual({
        ...request,
        inputs: comparables(inputs),
      });
    }
  });

  it("that chooses nothing is written without a model_spec, as the original's clients do, and read as such", () => {
    const spec = { model: "", signature: "", versionEncoding: "int64" } as const;
    const request = { spec, outputFilter: [], inputs: createTensors() };
    expect(encodePredictRequest(request, "content")).toHaveLength(0);
    expect(decode(new Uint8Array(0))).toEqual({ ...request, spec: { ...spec, isAbsent: true } });
  });

  it("keeps names such as __proto__ and the empty one as data", () => {
    const { inputs } = decode(encodeMessage([entry("__proto__", scalarProto), entry("", scalarProto)]));
    expect(Object.entries(inputs)).toEqual([
      ["__proto__", scalar],
      ["", scalar],
    ]);
    expect(isRecord(inputs)).toBe(true);
  });

  it("takes the last of two inputs with one name, even if the first cannot be read", () => {
    const broken = encodeMessage([integerField(1, 99)]);
    expect(decode(encodeMessage([entry("x", broken), entry("x", scalarProto)])).inputs.x).toEqual(scalar);
  });

  it("merges an input whose value comes twice, and reads an entry whose value comes before its key", () => {
    const shape = encodeMessage([messageField(2, [messageField(2, [integerField(1, 2)])])]);
    const { inputs } = decode(
      encodeMessage([messageField(2, [bytesField(2, scalarProto), bytesField(2, shape), textField(1, "x")])]),
    );
    expect(inputs.x).toEqual(createTensor("float32", [2], Float32Array.of(1.5, 1.5)));
  });

  it("is read past unknown fields, groups among them, at every level", () => {
    const unknown = [
      raw(0x98, 0x06, 5),
      raw(0x9a, 0x06, 1, 9),
      raw(0x9b, 0x06, 0x0b, 0x08, 1, 0x0c, 0x9c, 0x06),
      raw(0x9d, 0x06, 1, 2, 3, 4),
      raw(0x99, 0x06, 1, 2, 3, 4, 5, 6, 7, 8),
    ];
    const proto = encodeMessage([
      ...unknown,
      integerField(1, 1),
      ...unknown,
      messageField(2, [...unknown, messageField(2, unknown)]),
      ...unknown,
    ]);
    const spec = messageField(1, [
      ...unknown,
      textField(1, "m"),
      messageField(2, [...unknown, integerField(1, 3)]),
      ...unknown,
    ]);
    const bytes = encodeMessage([
      ...unknown,
      messageField(2, [...unknown, bytesField(2, proto), ...unknown]),
      ...unknown,
      spec,
    ]);
    expect(decode(bytes)).toMatchObject({
      spec: { model: "m", version: 3n },
      inputs: { "": createTensor("float32", [0], new Float32Array()) },
    });
  });

  it("is refused where it is not UTF-8", () => {
    const bytes = encodeMessage([messageField(1, [raw(0x0a, 1, 0xff)])]);
    expect(() => decode(bytes)).toThrow("Malformed ModelSpec: a text is not UTF-8");
  });

  it("is refused where its tensors together take more than it may", () => {
    const half = encodeMessage([integerField(1, 4), messageField(2, [messageField(2, [integerField(1, 600_000)])])]);
    expect(Object.keys(decode(encodeMessage([entry("a", half)])).inputs)).toEqual(["a"]);
    expect(() => decode(encodeMessage([entry("a", half), entry("b", half)]))).toThrow(
      /^tensor parsing error: b: shape \[600000\] of DT_UINT8 takes 600000 bytes in memory, \d+ of 1048576 are left for this message; send less, or raise --max-message-bytes$/,
    );
  });

  it.each([
    ["inputs", entry(""), "more than 2048 inputs"],
    ["output_filter", raw(0x1a, 0), "more than 2048 outputs"],
  ])("is refused where there is a flood of empty %s", (_field, part, text) => {
    expect(() => decode(encodeMessage(new Array(20_000).fill(part)))).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(text) }),
    );
  });

  it("takes 2048 inputs", () => {
    const entries = Array.from({ length: 2048 }, (_, index) => entry(`x${index}`, encodeMessage([integerField(1, 1)])));
    expect(Object.keys(decode(encodeMessage(entries), 2 * MEGABYTE).inputs)).toHaveLength(2048);
  });

  it("gives nothing but invalid_argument for 2000 mutations", () => {
    const random = new Random(9);
    let refused = 0;
    for (let round = 0; round < 2000; round++) {
      const tensors = DTYPES.map((dtype) => [dtype, typedProto(random.tensor(dtype))] as const);
      const picked = Object.fromEntries([random.pick(tensors), random.pick(tensors)]);
      const spec = { name: "model", version: { value: "3" }, signature_name: "sig" };
      const bytes = mutate(oracle.encodeRequest({ model_spec: spec, inputs: picked, output_filter: ["out"] }), random);
      try {
        decode(bytes);
      } catch (reason) {
        expect(reason).toBeInstanceOf(ServingError);
        expect((reason as ServingError).code).toBe("invalid_argument");
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(200);
    expect(refused).toBeLessThan(2000);
  });
});

/** Changes, removes or repeats some bytes. */
function mutate(bytes: Buffer, random: Random): Uint8Array {
  const at = random.below(bytes.length);
  const length = 1 + random.below(4);
  switch (random.below(4)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at)]);
    default:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(length), bytes.subarray(at + length)]);
  }
}

describe("a version", () => {
  const nothing = { model: "", signature: "" };
  const rest = { inputs: createTensors(), outputFilter: [] };

  it.each([
    ["TensorFlow Serving's message", messageField(2, [integerField(1, 5)]), { version: 5n, versionEncoding: "int64" }],
    ["the message of version 0", messageField(2, []), { version: 0n, versionEncoding: "int64" }],
    ["a negative message", messageField(2, [integerField(1, -1)]), { version: -1n, versionEncoding: "int64" }],
    ["the original's plain integer", raw(0x10, 5), { version: 5n, versionEncoding: "int32" }],
    ["a negative plain integer", integerField(2, -2), { version: -2n, versionEncoding: "int32" }],
    ["the plain integer 0, which is none", raw(0x10, 0), { versionEncoding: "int32" }],
    ["a label after a version", raw(0x10, 5, 0x22, 1, 0x61), { label: "a", versionEncoding: "int32" }],
    ["a version after a label", raw(0x22, 1, 0x61, 0x12, 2, 8, 7), { version: 7n, versionEncoding: "int64" }],
  ])("is read from %s", (_case, part, expected) => {
    expect(decode(encodeMessage([messageField(1, [part])]))).toEqual({ ...rest, spec: { ...nothing, ...expected } });
  });

  it("is written in either encoding", () => {
    const encode = (versionEncoding: VersionEncoding) =>
      encodePredictRequest({ ...rest, spec: { ...nothing, version: 5n, versionEncoding } }, "content");
    const int64 = encode("int64");
    expect(oracle.decodeRequest(int64)).toMatchObject({ model_spec: { version: { value: "5" } } });
    expect([...encode("int32")]).toEqual([0x0a, 2, 0x10, 5]);
  });
});

describe("a PredictResponse", () => {
  it("of ours is read by protobufjs, and protobufjs' by us", () => {
    const spec = { model: "m", version: 3n, signature: "serving_default", versionEncoding: "int64" } as const;
    const response = { spec, outputs: createTensors([["y", scalar]]) };
    const bytes = encodeMessage(predictResponseParts(response, "typed"));
    expect(oracle.decodeResponse(bytes)).toMatchObject({
      outputs: { y: { dtype: "DT_FLOAT", float_val: [1.5], tensor_shape: { dim: [] } } },
      model_spec: { name: "m", version: { value: "3" }, signature_name: "serving_default" },
    });
    const theirs = oracle.encodeResponse(oracle.decodeResponse(bytes));
    expect(decodePredictResponse(theirs, MEGABYTE)).toEqual(response);
  });

  it("has a tensor_shape also for a scalar, as TensorFlow's has", () => {
    const spec = { model: "", signature: "", versionEncoding: "int64" } as const;
    const bytes = encodeMessage(predictResponseParts({ spec, outputs: createTensors([["y", scalar]]) }, "typed"));
    expect(oracle.decodeResponse(bytes)).toMatchObject({ outputs: { y: { tensor_shape: { dim: [] } } } });
  });
});
