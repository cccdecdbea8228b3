import { expect, test } from "vitest";
import type { FormTensor } from "../../src/page/form-tensor.ts";
import { fromBinary, inferRequest, readOutputs, toBinary } from "../../src/page/form-tensor.ts";
import { toFormTensor } from "../../src/page/input-state.ts";
import { startServer } from "../helpers/start-server.ts";

const NUMBERS: readonly (readonly [string, readonly (number | bigint | boolean)[]])[] = [
  ["BOOL", [true, false]],
  ["INT8", [-128, 127]],
  ["UINT8", [0, 255]],
  ["INT16", [-32768, 32767]],
  ["UINT16", [65535]],
  ["INT32", [-2147483648]],
  ["UINT32", [4294967295]],
  ["INT64", [-9223372036854775808n, 9007199254740993n]],
  ["UINT64", [18446744073709551615n]],
  ["FP16", [0, -2, 0.5, 65504, 2 ** -24, 2 ** -14, Number.POSITIVE_INFINITY, Number.NaN, 1.9990234375]],
  ["BF16", [1, -0.5, 256]],
  ["FP32", [0.5, -3.25]],
  ["FP64", [0.1, 1e300]],
];

test("every datatype comes back from a server that echoes it, as JSON and as bytes", async () => {
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }] });
  const echo = async (inputs: readonly FormTensor[]) => {
    const response = await fetch(`${httpUrl}/v2/models/default/versions/1/infer`, inferRequest(inputs));
    if (!response.ok) throw new Error(await response.text());
    return readOutputs(await response.arrayBuffer(), response.headers.get("inference-header-content-length"));
  };
  const tensors = NUMBERS.map(([datatype, values]) => ({ name: datatype, datatype, shape: [values.length], values }));
  const few = tensors.filter(({ datatype }) => !/^(?:FP16|BF16)$/.test(datatype));
  expect(await echo(few)).toEqual(few);
  const many = tensors.map((tensor) => ({
    ...{ ...tensor, shape: [300 * tensor.values.length] },
    values: Array.from({ length: 300 }, () => tensor.values).flat(),
  }));
  expect(await echo(many)).toEqual(many);
  const file = { name: "f", datatype: "BYTES", shape: [2], values: [Uint8Array.of(0, 255), new Uint8Array()] };
  expect((await echo([file]))[0]?.values.map((value) => [...(value as Uint8Array)])).toEqual([[0, 255], []]);
});

test("halves are rounded to the nearest", () => {
  const half = (count: number) => ({ name: "half", datatype: "FP16", shape: [count] });
  for (let bits = 0; bits < 0x7c00; bits += 7) {
    const [value] = fromBinary(half(1), new Uint8Array(Uint16Array.of(bits).buffer)) as [number];
    expect([...new Uint16Array(toBinary("FP16", [value]).buffer)]).toEqual([bits]);
  }
  expect(fromBinary(half(2), toBinary("FP16", [0.1, 2.0009]))).toEqual([0.0999755859375, 2]);
});

test("a file goes as it is, or as base64 text in the alphabet for URLs", () => {
  const tensor = {
    name: "image",
    datatype: "BYTES",
    shape: [-1],
    takesImages: false,
    isForImages: false,
    isOptional: false,
  };
  const bytes = Uint8Array.of(0, 255, 251, 255);
  const file = { name: "a.bin", bytes, source: new File([bytes], "a.bin"), isImage: false };
  const state = { shape: "", values: "", file };
  expect(toFormTensor(tensor, state)?.values).toEqual([file.bytes]);
  expect(toFormTensor(tensor, { ...state, isEncoded: true })).toMatchObject({ shape: [1], values: ["AP_7_w=="] });
});
