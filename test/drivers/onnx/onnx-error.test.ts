import { describe, expect, test } from "vitest";
import { type SymbolicShapes, toLoadError, toRunError } from "../../../src/drivers/onnx/onnx-error.ts";

const shapes: SymbolicShapes = new Map();
const OPEN: SymbolicShapes = new Map([["x", ["N"]]]);
const FIXED: SymbolicShapes = new Map([["x", [2]]]);
const failed = (why: string) =>
  new Error(`Non-zero status code returned while running A node. Name:'a' Status Message: ${why}`);
const run = (text: string) => toRunError(new Error(text), {}, shapes);
const load = (text: string) => toLoadError(new Error(text), "a.onnx", "CPU");

describe("the runtime's own words", () => {
  test("lose the places in its sources", () => {
    const text =
      "/onnxruntime_src/onnxruntime/core/framework/sequential_executor.cc:572 onnxruntime::common::Status onnxruntime::ExecuteKernel(onnxruntime::StreamExecutionContext&, const int&) [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code returned while running Gather node. Name:'/pick/Gather' Status Message: indices element out of bounds";
    expect(run(text)).toMatchObject({
      code: "internal",
      message: `The model failed in Gather "/pick/Gather": indices element out of bounds`,
    });
  });

  test("lose the paths of the server, without an ending too", () => {
    expect(load("Load model from /srv/secret/a.onnx failed:Cannot open /srv/secret/weights here").message).toBe(
      'ONNX Runtime cannot load "a.onnx": Cannot open (path) here',
    );
  });
});

describe("an operator that fails", () => {
  const codeOf = (why: string, symbols: SymbolicShapes) => toRunError(failed(why), {}, symbols).code;

  test.each([
    ["of a model that takes something", "k argument [9] should not be greater than specified axis dim value [3]", OPEN],
    ["by a value, where all sizes are fixed", "idx=7 must be within the inclusive range [-3,2]", FIXED],
  ])("%s: the request", (_what, why, symbols) => expect(codeOf(why, symbols)).toBe("invalid_argument"));

  test.each([
    ["of a model that takes nothing", "idx=7 must be within the inclusive range [-3,2]", shapes],
    ["by a size, where all sizes are fixed", "right operand cannot broadcast on dim 0", FIXED],
    ["that the runtime lacks", "data type is not supported", OPEN],
    ["on the GPU", "CUDA failure 700: an illegal memory access", OPEN],
  ])("%s: the server", (_what, why, symbols) => expect(codeOf(why, symbols)).toBe("internal"));

  test("in the body of another is named itself", () => {
    const inner = failed("idx=7 must be within the inclusive range [-3,2]").message;
    expect(toRunError(failed(inner), {}, OPEN).message).toMatch(/^The model failed in A "a": idx=7 must/);
  });
});

describe("what CUDA says", () => {
  test("loses the machine, the line of C++ and the call", () => {
    const text =
      "CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=node-7 ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc ; line=129 ; expr=cudaStreamSynchronize(static_cast<cudaStream_t>(stream_)); ";
    const message = "ONNX Runtime failed: CUDA failure 700: an illegal memory access was encountered";
    expect(run(text)).toMatchObject({ code: "internal", message });
  });

  test.each([
    "Failed to allocate memory for requested buffer of size 274877906944",
    "Available memory of 130515968 is smaller than requested bytes of 205520896",
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=h ; file=f ; line=1 ; expr=cudaMalloc((void**)&p, size); ",
  ])("%s is a lack of memory", (text) => {
    expect([run(text).code, load(text).code]).toEqual(["resource_exhausted", "resource_exhausted"]);
  });
});

test.each([
  "Fatal error: my:Op(-1) is not a registered function/op",
  'This is an invalid model. In Node, ("", Op, "my", -1) : , Error No opset import for domain \'my\'',
])("a model with operators of a library says how it is given: %s", (text) => {
  expect(load(text).message).toMatch(/ Give the library that has the operator with -o custom_op_paths=\.$/);
});

describe("a text of any length and kind costs little time", () => {
  test.each([
    ["one word", "a".repeat(200_000)],
    ["a signature without an end", `x.cc:1 f(${"(".repeat(100_000)}`],
    ["many places", "x.cc:1 a(".repeat(30_000)],
    ["many types", `x.cc:1 ${"a:<>".repeat(50_000)}`],
    ["many nodes", "while running A node. Name:'".repeat(10_000)],
    ["a call of CUDA without an end", " ; GPU=0 ; hostname=h ; file=f".repeat(10_000)],
    ["a path of many parts", "/a".repeat(100_000)],
  ])("%s", (_, text) => {
    const started = performance.now();
    expect([run(text).code, load(text).code]).toEqual(["internal", "failed_precondition"]);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
