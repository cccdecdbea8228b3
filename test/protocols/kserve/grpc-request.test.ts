import { describe, expect, it } from "vitest";
import { datatypeOf } from "../../../src/protocols/kserve/datatype.ts";
import { decodeInferRequest } from "../../../src/protocols/kserve/grpc-request.ts";
import { encodeStreamError, inferResponseParts } from "../../../src/protocols/kserve/grpc-response.ts";
import type { KserveAnswer } from "../../../src/protocols/kserve/kserve-answer.ts";
import { toRaw } from "../../../src/protocols/kserve/raw-tensor.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textField,
} from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DTYPES, type DType } from "../../../src/tensor/dtype.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";
import { kserveOracle } from "./kserve-oracle.ts";

const MEGABYTE = 1024 * 1024;
const CARRIED = DTYPES.filter((dtype) => datatypeOf(dtype) !== undefined);
const TYPED = CARRIED.filter((dtype) => datatypeOf(dtype)?.contents !== undefined);

function decode(bytes: Uint8Array, maxBytes = MEGABYTE) {
  return decodeInferRequest(bytes, maxBytes);
}

function head(name: string, { dtype, shape }: Tensor) {
  return { name, datatype: datatypeOf(dtype)?.name, shape };
}

/** The typed contents that protobufjs is to write. */
function contentsOf({ dtype, data }: Tensor): Plain {
  const field = datatypeOf(dtype)?.contents?.name as string;
  const values = [...data].map((value) => (typeof value === "bigint" ? String(value) : value));
  return { [field]: dtype === "bool" ? values.map(Boolean) : values };
}

function randomTensors(random: Random, dtypes: readonly DType[]): [string, Tensor][] {
  return Array.from({ length: 1 + random.below(3) }, (_, index) => [`x${index}`, random.tensor(random.pick(dtypes))]);
}

function comparables(entries: readonly (readonly [string, Tensor])[]) {
  return entries.map(([name, tensor]) => [name, comparable(tensor)]);
}

describe("a ModelInferRequest", () => {
  it("of protobufjs with raw contents is read with all that it says", () => {
    const random = new Random(3);
    for (let round = 0; round < 100; round++) {
      const tensors = randomTensors(random, CARRIED);
      const bytes = kserveOracle.encodeRequest({
        model_name: "m",
        model_version: "7",
        id: "ü",
        parameters: { a: { bool_param: true }, b: { int64_param: "-9007199254740993" }, c: { string_param: "s" } },
        inputs: tensors.map(([name, tensor]) => head(name, tensor)),
        outputs: [{ name: "y", parameters: { classification: { int64_param: 3 } } }],
        raw_input_contents: tensors.map(([, tensor]) => toRaw(tensor)),
      });
      const { inputs, ...rest } = decode(bytes);
      expect(comparables(inputs)).toEqual(comparables(tensors));
      expect(rest).toEqual({
        model: "m",
        version: "7",
        id: "ü",
        parameters: new Map<string, unknown>([
          ["a", true],
          ["b", -9007199254740993n],
          ["c", "s"],
        ]),
        outputs: [{ name: "y", parameters: new Map([["classification", 3n]]) }],
        form: { encoding: "raw", tellsEnd: false },
      });
    }
  });

  it("of protobufjs with typed contents is read with all that it says", () => {
    const random = new Random(4);
    for (let round = 0; round < 100; round++) {
      const tensors = randomTensors(random, TYPED);
      const inputs = tensors.map(([name, tensor]) => ({ ...head(name, tensor), contents: contentsOf(tensor) }));
      expect(comparables(decode(kserveOracle.encodeRequest({ inputs })).inputs)).toEqual(comparables(tensors));
    }
  });

  it("may have its fields in any order, split and unpacked", () => {
    const half = (values: number[]) => bytesField(6, new Uint8Array(Float32Array.from(values).buffer));
    const input = messageField(5, [
      messageField(5, [half([1])]),
      textField(2, "FP32"),
      integerField(3, 2),
      integerField(3, 1),
      messageField(5, [half([2])]),
      textField(99, "unknown"),
      textField(1, "x"),
    ]);
    const { model, inputs } = decode(encodeMessage([input, textField(1, "m")]));
    expect(model).toBe("m");
    expect(inputs).toEqual([["x", createTensor("float32", [2, 1], Float32Array.of(1, 2))]]);
  });

  it("takes any number but 0 for true", () => {
    const contents = bytesField(5, encodeMessage([bytesField(1, Uint8Array.of(0x80, 2, 0, 2))]));
    const head = [textField(1, "x"), textField(2, "BOOL"), integerField(3, 3)];
    const { inputs } = decode(encodeMessage([messageField(5, [...head, contents])]));
    expect(inputs).toEqual([["x", createTensor("bool", [3], Uint8Array.of(1, 0, 1))]]);
  });

  const int8 = { name: "x", datatype: "INT8", shape: [1] };
  const typed = [{ ...int8, contents: { int_contents: [1] } }];
  const yes = { typed_outputs: { bool_param: true } };
  const place = { shared_memory_region: { string_param: "r" }, shared_memory_byte_size: { int64_param: 1 } };
  it.each([
    ["raw values", { inputs: [int8], raw_input_contents: [Buffer.of(1)] }, "raw"],
    ["raw values, whatever it says", { parameters: yes, inputs: [int8], raw_input_contents: [Buffer.of(1)] }, "raw"],
    ["values in shared memory", { inputs: [{ ...int8, parameters: place }] }, "raw"],
    ["typed values", { inputs: typed }, "both"],
    ["typed values, and says so", { parameters: yes, inputs: typed }, "typed"],
    ["typed values, and says no", { parameters: { typed_outputs: { bool_param: false } }, inputs: typed }, "raw"],
  ])("with %s asks for the answer's form", (_what, request, encoding) => {
    expect(decode(kserveOracle.encodeRequest(request)).form.encoding).toBe(encoding);
  });

  const x = { name: "x", datatype: "INT32", shape: [2] };
  const contents = { int_contents: [1, 2] };
  const eight = Buffer.alloc(8);
  const text = (shape: number[], bytes: Buffer) => ({
    inputs: [{ name: "x", datatype: "BYTES", shape }],
    raw_input_contents: [bytes],
  });
  it.each<[string, Plain, string]>([
    [
      "contents beside raw contents",
      { inputs: [{ ...x, contents }], raw_input_contents: [eight] },
      "contents field must not be specified when using raw_input_contents for 'x' for model 'm'",
    ],
    [
      "too few raw contents",
      { inputs: [x, { ...x, name: "y" }], raw_input_contents: [eight] },
      "unable to find data for input tensor 'y' for model 'm' in request.",
    ],
    [
      "too many raw contents",
      { inputs: [x], raw_input_contents: [eight, eight] },
      "raw_input_contents has 2 entries, but the request has 1 inputs for model 'm'",
    ],
    [
      "more raw contents than there may be inputs",
      { inputs: [x], raw_input_contents: Array(2049).fill(eight) },
      "raw_input_contents has more than 2048 entries; send one for each input.",
    ],
    [
      "raw contents of another size",
      { id: "7", inputs: [x], raw_input_contents: [Buffer.alloc(7)] },
      "[request id: 7] input byte size mismatch for input 'x' for model 'm'. Expected 8, got 7",
    ],
    [
      "values in the field of another datatype",
      { inputs: [{ ...x, contents: { fp32_contents: [1, 2] } }] },
      "unexpected explicit tensor data for input tensor 'x' for model 'm' of type 'FP32', expected datatype 'INT32'",
    ],
    [
      "values in a field of its own and in another",
      { inputs: [{ ...x, contents: { ...contents, fp32_contents: [1] } }] },
      "of type 'FP32', expected datatype 'INT32'",
    ],
    [
      "half precision in typed contents",
      { inputs: [{ ...x, datatype: "FP16", contents }] },
      "input 'x' for model 'm' is FP16, which goes into raw_input_contents only",
    ],
    ...(
      [
        ["INT8", { int_contents: [127, 300] }, 300],
        ["INT8", { int_contents: [-129, 0] }, -129],
        ["INT16", { int_contents: [0, 32768] }, 32768],
        ["INT16", { int_contents: [-(2 ** 31), 0] }, -(2 ** 31)],
        ["UINT8", { uint_contents: [255, 256] }, 256],
        ["UINT16", { uint_contents: [65536, 0] }, 65536],
        ["UINT16", { uint_contents: [4294967295, 0] }, 4294967295],
      ] as const
    ).map(([datatype, typed, value]): [string, Plain, string] => [
      `${value} for ${datatype}`,
      { inputs: [{ ...x, datatype, contents: typed }] },
      `unexpected explicit tensor data for input tensor 'x' for model 'm': ${value} is not a value of ${datatype}`,
    ]),
    [
      "fewer values than the shape",
      { inputs: [{ ...x, contents: { int_contents: [1] } }] },
      "unexpected number of elements for input 'x' for model 'm'. Expected 2, got 1",
    ],
    ["an unknown datatype", { inputs: [{ ...x, datatype: "INT3" }] }, "invalid datatype 'INT3' for input 'x'"],
    ["a negative dimension", { inputs: [{ ...x, shape: [-1] }], raw_input_contents: [eight] }, "has dimension -1"],
    [
      "dimensions that overflow",
      { inputs: [{ ...x, shape: ["4294967296", "4294967296"] }], raw_input_contents: [eight] },
      "causes total element count to exceed maximum size of 9223372036854775807",
    ],
    ["a text's length cut short", text([1], Buffer.of(1, 0, 0)), "incomplete string length indicator for inference"],
    [
      "a text cut short",
      text([1], Buffer.of(9, 0, 0, 0, 65)),
      "expecting string of length 9 but only 1 bytes available",
    ],
    ["fewer texts than the shape", text([2], Buffer.of(0, 0, 0, 0)), "expected 2 string elements for inference input"],
    ["more texts than the shape", text([1], eight), "unexpected number of string elements 2 for inference input"],
  ])("with %s is refused", (_, message, expected) => {
    const bytes = kserveOracle.encodeRequest({ model_name: "m", ...message });
    expect(() => decode(bytes)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(expected) }),
    );
  });

  it("that claims much and holds little is refused before memory is taken", () => {
    const claim = { inputs: [{ name: "x", datatype: "INT8", shape: [2 ** 31] }] };
    expect(() => decode(kserveOracle.encodeRequest(claim))).toThrow(/2147483648 values of int8/);
    const texts = text([1_000_000], Buffer.alloc(4_000_000));
    expect(() => decode(kserveOracle.encodeRequest(texts))).toThrow(/1000000 elements of 'x' takes 64000000 bytes/);
  });

  it("never fails with anything but invalid_argument, whatever its bytes", () => {
    const random = new Random(5);
    const whole = kserveOracle.encodeRequest({
      model_name: "m",
      parameters: { p: { double_param: 1.5 } },
      inputs: [
        { ...x, contents },
        { name: "s", datatype: "BYTES", shape: [1], contents: { bytes_contents: [Buffer.from("a")] } },
      ],
      outputs: [{ name: "y" }],
    });
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(whole.subarray(0, whole.length - random.below(4)));
      for (let change = random.below(4); change >= 0; change--) bytes[random.below(bytes.length)] = random.below(256);
      try {
        decode(bytes, 10_000);
      } catch (reason) {
        expect(reason).toMatchObject({ code: "invalid_argument" });
      }
    }
  });
});

describe("a ModelInferResponse", () => {
  function answer(outputs: readonly (readonly [string, Tensor])[]): KserveAnswer {
    return {
      model: "m",
      version: 2n,
      id: "7",
      outputs: outputs.map(([name, tensor]) => {
        return { name, datatype: datatypeOf(tensor.dtype)?.name ?? "", shape: tensor.shape, tensor };
      }),
      metadata: {},
    };
  }

  it("carries raw values that protobufjs reads", () => {
    const random = new Random(6);
    for (let round = 0; round < 100; round++) {
      const tensors = randomTensors(random, CARRIED);
      const read = kserveOracle.decodeResponse(encodeMessage(inferResponseParts(answer(tensors), "raw")));
      expect(read).toMatchObject({ model_name: "m", model_version: "2", id: "7" });
      expect(read.outputs).toMatchObject(
        tensors.map(([name, tensor]) => ({ ...head(name, tensor), shape: tensor.shape.map(String), contents: null })),
      );
      expect(read.raw_output_contents).toEqual(tensors.map(([, tensor]) => Buffer.from(toRaw(tensor))));
    }
  });

  it("carries typed values that protobufjs reads, where all datatypes have them", () => {
    const tensors: [string, Tensor][] = [
      ["a", createTensor("int64", [2], BigInt64Array.of(-1n, 2n ** 62n))],
      ["b", createTensor("bytes", [1], [Buffer.from("é")])],
    ];
    const { outputs, raw_output_contents: raw } = kserveOracle.decodeResponse(
      encodeMessage(inferResponseParts(answer(tensors), "typed")),
    );
    expect(raw).toEqual([]);
    expect(outputs).toMatchObject([
      { contents: { int64_contents: ["-1", "4611686018427387904"] } },
      { contents: { bytes_contents: [Buffer.from("é")] } },
    ]);
    const half: [string, Tensor] = ["h", createTensor("float16", [1], Uint16Array.of(0x3c00))];
    const mixed = kserveOracle.decodeResponse(encodeMessage(inferResponseParts(answer([...tensors, half]), "typed")));
    expect(mixed.raw_output_contents).toHaveLength(3);
  });

  it("in a stream reports which request failed and why", () => {
    expect(kserveOracle.decodeStreamResponse(encodeStreamError({ message: "no", id: "7" }))).toMatchObject({
      error_message: "no",
      infer_response: { id: "7" },
    });
    // Programs read the response of every message.
    expect(kserveOracle.decodeStreamResponse(encodeStreamError({ message: "no", id: "" }))).toMatchObject({
      error_message: "no",
      infer_response: { id: "" },
    });
  });
});
