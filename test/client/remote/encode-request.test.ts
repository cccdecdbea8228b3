import { describe, expect, it } from "vitest";
import { encodeJson, encodeRequest } from "../../../src/client/remote/encode-request.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { decodePredictJson } from "../../../src/protocols/kibernetika/grpc-codec.ts";
import { encodePredictRequest } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

const { signal } = new AbortController();

function requestWith(tensor: Tensor) {
  const spec = { model: "m", signature: "", version: 7n, versionEncoding: "int64" } as const;
  return { spec, inputs: createTensors([["x", tensor]]), outputFilter: ["y"] };
}

/** A call; with `isWireOnly` its tensors are needed by no hook. */
function callWith({ isWireOnly }: { isWireOnly: boolean }) {
  const memory = new MemoryBudget(100e6).open();
  memory.isWireOnly = isWireOnly;
  return { signal, memory };
}

describe("a codec thread writes", () => {
  it("many texts", async () => {
    const texts = Array.from({ length: 10_000 }, (_, index) => Buffer.from(`text ${index}`));
    const request = requestWith(createTensor("bytes", [texts.length], texts));
    const written = encodeRequest(request, callWith({ isWireOnly: false }));
    expect(written).toBeInstanceOf(Promise);
    expect(await written).toEqual(encodePredictRequest(request, "content"));
  });

  it("many numbers, whose memory it is transferred", async () => {
    const numbers = Float32Array.from({ length: 3_000_000 }, (_, index) => index);
    const request = requestWith(createTensor("float32", [numbers.length], numbers));
    const expected = encodePredictRequest(request, "content");
    const call = callWith({ isWireOnly: true });
    const written = await encodeRequest(request, call);
    expect(numbers.byteLength).toBe(0);
    expect(written.equals(expected)).toBe(true);
    expect(call.memory.bytes).toBe(0);
  });

  it("a long text of JSON, likewise", async () => {
    const json = new Uint8Array(9_000_000).fill(0x61);
    const written = await encodeJson(json, callWith({ isWireOnly: true }));
    expect(json.byteLength).toBe(0);
    expect(Buffer.from(decodePredictJson(written)).equals(Buffer.alloc(9_000_000, "a"))).toBe(true);
  });
});

it("writes in this thread what hooks may have kept, and what takes no time", () => {
  const many = createTensor("float32", [3_000_000], new Float32Array(3_000_000));
  expect(encodeRequest(requestWith(many), callWith({ isWireOnly: false }))).toBeInstanceOf(Buffer);
  const few = createTensor("float32", [3], new Float32Array(3));
  expect(encodeRequest(requestWith(few), callWith({ isWireOnly: true }))).toBeInstanceOf(Buffer);
  expect(encodeJson(Buffer.from("{}"), callWith({ isWireOnly: true }))).toBeInstanceOf(Buffer);
  expect([few.data.byteLength, many.data.byteLength]).toEqual([12, 12_000_000]);
});
