import { describe, expect, test } from "vitest";
import { exampleRequest } from "../../../src/cli/announcer/example-request.ts";
import type { TensorSpec } from "../../../src/signature/signature.ts";

const HTTP = { grpcAddress: "localhost:9000", httpUrl: "http://localhost:9001" };
const example = (inputs: readonly TensorSpec[] | undefined, where: object = HTTP, name = "default") =>
  exampleRequest({ name, signatures: { serving_default: inputs ? { inputs } : {} }, ...(where as typeof HTTP) });

describe("over HTTP", () => {
  test("names the inputs with the smallest shapes", () => {
    const inputs: TensorSpec[] = [
      { name: "ids", dtype: "int64", shape: [-1, 2] },
      { name: "text", dtype: "bytes", shape: [{ min: 2, max: 8 }] },
      { name: "flag", dtype: "bool", shape: [] },
      { name: "any", dtype: "float32" },
    ];
    expect(example(inputs)).toBe(
      `curl http://localhost:9001/v1/models/default:predict -d '{"inputs":{"ids":[[0,0]],"text":["text","text"],"flag":false,"any":[0]}}'`,
    );
  });

  test("stays one short line for a large input", () => {
    expect(example([{ name: "image", dtype: "float32", shape: [-1, 224, 224, 3] }])).toBe(
      `node -p 'JSON.stringify({"inputs":{"image":Array(1).fill(Array(224).fill(Array(224).fill(Array(3).fill(0))))}})' | curl http://localhost:9001/v1/models/default:predict -d @-`,
    );
  });

  test("quotes names for the URL and the shell", () => {
    expect(example([{ name: "it's", dtype: "float32", shape: [1] }], HTTP, "my model")).toBe(
      `curl http://localhost:9001/v1/models/my%20model:predict -d '{"inputs":{"it'\\''s":[0]}}'`,
    );
  });

  test("leaves out inputs that have defaults", () => {
    const inputs: TensorSpec[] = [
      { name: "x", dtype: "float32", shape: [1] },
      { name: "k", dtype: "int64", shape: [], default: { dtype: "int64", shape: [], data: new BigInt64Array(1) } },
    ];
    expect(example(inputs)).toContain(`'{"inputs":{"x":[0]}}'`);
  });

  test("sends three numbers where any names are taken", () => {
    expect(example(undefined)).toContain(`'{"inputs":{"x":[0,0,0]}}'`);
  });

  test("gives way to gRPC for complex numbers, for which JSON has no form", () => {
    expect(example([{ name: "z", dtype: "complex64", shape: [2] }])).toContain("buf curl");
  });
});

test("over gRPC one element stands for all", () => {
  const line = example([{ name: "image", dtype: "uint8", shape: [1, 224, 224, 3] }], { grpcAddress: "localhost:9000" });
  expect(line).toBe(
    `npx @bufbuild/buf curl --protocol grpc --http2-prior-knowledge http://localhost:9000/tensorflow.serving.PredictionService/Predict ` +
      `-d '{"model_spec":{"name":"default"},"inputs":{"image":{"dtype":"DT_UINT8","tensor_shape":{"dim":[{"size":1},{"size":224},{"size":224},{"size":3}]},"int_val":[0]}}}'`,
  );
});
