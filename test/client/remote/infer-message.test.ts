import { expect, test } from "vitest";
import { decodeInferResponse, encodeInferRequest } from "../../../src/client/remote/infer-message.ts";
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

test.each([
  [{ fp32Contents: [1, 2.5] }, []],
  [undefined, [Buffer.from(Float32Array.of(1, 2.5).buffer).toString("base64")]],
])("an answer's values are read from %j as well as from raw contents %j", (contents, raw) => {
  const output = { name: "y", datatype: "FP32", shape: ["2"], ...(contents && { contents }) };
  const bytes = encodeAs("inference.ModelInferResponse", { modelName: "m", outputs: [output], rawOutputContents: raw });
  expect(decodeInferResponse(bytes).outputs).toEqual({ y: createTensor("float32", [2], Float32Array.of(1, 2.5)) });
});
