import { expect, test } from "vitest";
import {
  decodeInferResponse,
  decodeStreamResponse,
  encodeInferRequest,
} from "../../../src/client/remote/infer-message.ts";
import { decodeInferRequest } from "../../../src/protocols/kserve/grpc-request.ts";
import { encodeAs } from "../../../src/tensor/codecs/protobuf/proto-messages.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";

test("a request is what the server reads", () => {
  const inputs = createTensors([
    ["x", createTensor("float32", [2], Float32Array.of(1, 2.5))],
    ["text", createTensor("bytes", [1, 1], [Buffer.from("ä")])],
    ["scalar", createTensor("int64", [], BigInt64Array.of(2n ** 60n))],
  ]);
  const message = encodeInferRequest({ model: "m", version: "3", inputs });
  const { model, version, inputs: read } = decodeInferRequest(message, 1e6);
  expect([model, version]).toEqual(["m", "3"]);
  const { text, ...numbers } = Object.fromEntries(read);
  expect(numbers).toEqual({ x: inputs.x, scalar: inputs.scalar });
  expect(Buffer.from(text?.data[0] as Uint8Array).toString()).toBe("ä");
});

test("parameters are what the server reads, those of no value to proto3 too", () => {
  const parameters = {
    ...{ max_tokens: 16, seed: 2n ** 62n + 1n, salt: 2n ** 64n - 1n, stop: "" },
    ...{ zero: 0, none: 0n, greedy: false, sure: true, temperature: 0.5, penalty: Number.POSITIVE_INFINITY },
  };
  const read = decodeInferRequest(encodeInferRequest({ model: "m", inputs: createTensors(), parameters }), 1e6);
  const integers = { max_tokens: 16n, zero: 0n };
  expect(Object.fromEntries(read.parameters)).toEqual({ ...parameters, ...integers });
});

test.each([
  [{ fp32Contents: [1, 2.5] }, []],
  [undefined, [Buffer.from(Float32Array.of(1, 2.5).buffer).toString("base64")]],
])("an answer's values are read from %j as well as from raw contents %j", (contents, raw) => {
  const output = { name: "y", datatype: "FP32", shape: ["2"], ...(contents && { contents }) };
  const bytes = encodeAs("inference.ModelInferResponse", { modelName: "m", outputs: [output], rawOutputContents: raw });
  expect(decodeInferResponse(bytes).outputs).toEqual({ y: createTensor("float32", [2], Float32Array.of(1, 2.5)) });
});

test("the tensors of an answer in a stream take no more memory than they may", () => {
  const output = {
    name: "y",
    datatype: "BYTES",
    shape: ["100000"],
    contents: { bytesContents: Array(100_000).fill("") },
  };
  const bytes = encodeAs("inference.ModelStreamInferResponse", {
    inferResponse: { modelName: "m", outputs: [output] },
  });
  expect(decodeStreamResponse(bytes).outputs.y?.shape).toEqual([100_000]);
  expect(() => decodeStreamResponse(bytes, 1_000_000)).toThrow(/memory|bytes/);
});

test("an error in a stream has its code, where the server tells one that there is", () => {
  const failed = (code: string) => {
    const parameters = { kserving_error_code: { stringParam: code } };
    return encodeAs("inference.ModelStreamInferResponse", { errorMessage: "no", inferResponse: { parameters } });
  };
  const codeOf = (bytes: Uint8Array) => decodeStreamResponse(bytes).errorCode;
  expect(codeOf(failed("not_found"))).toBe("not_found");
  expect(codeOf(failed("constructor"))).toBe("unknown");
  expect(codeOf(encodeAs("inference.ModelStreamInferResponse", { errorMessage: "no" }))).toBe("unknown");
});
