import { readFileSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readInitializer } from "../../../src/drivers/onnx/element-types.ts";
import { readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { encodeModel, type Initializer } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { modelPath } from "./load-onnx.ts";

describe("readModelFile", () => {
  it("reads the kinds of inputs and outputs without a runtime", () => {
    expect(readModelFile(modelPath("sequence-output.onnx"))).toEqual({
      inputs: [{ name: "x", kind: "tensor", elementType: 1, hasShape: true }],
      outputs: [{ name: "rows", kind: "sequence", elementType: 0, hasShape: false }],
      initializers: new Set(),
      defaults: {},
      metadata: {},
      hasBoundedRuns: false,
    });
  });

  it("reads the metadata behind the graph, whatever their names", () => {
    const text = (field: number, value: string) => [field, value.length, ...Buffer.from(value, "latin1")];
    const entry = (key: string, value: string) => {
      const content = [...text(0x0a, key), ...text(0x12, value)];
      return [0x72, content.length, ...content];
    };
    const model = readFileSync(modelPath("scalar.onnx"));
    const tail = Buffer.from([...entry("labels", "cat,dog"), ...entry("__proto__", "x"), ...entry("empty", "")]);
    const folder = tempFolder({ "labelled.onnx": Buffer.concat([model, tail]) });
    const entries = Object.entries(readModelFile(`${folder}/labelled.onnx`)?.metadata ?? {});
    expect(entries).toEqual([
      ["labels", "cat,dog"],
      ["__proto__", "x"],
      ["empty", ""],
    ]);
  });

  it("distinguishes a scalar from an unknown rank", () => {
    const declared = ["scalar.onnx", "any-rank.onnx"].map(
      (name) => readModelFile(modelPath(name))?.inputs[0]?.hasShape,
    );
    expect(declared).toEqual([true, false]);
  });

  it("reads which inputs have values in the model", () => {
    expect(readModelFile(modelPath("default-input.onnx"))?.initializers).toEqual(new Set(["bias"]));
  });

  const DEFAULTS: readonly Initializer[] = [
    { name: "f", dtype: "float32", shape: [2], data: Float32Array.of(0.5, -1) },
    { name: "i", dtype: "int64", shape: [1], data: BigInt64Array.of(-(2n ** 63n)) },
    { name: "b", dtype: "bool", shape: [2], data: Uint8Array.of(1, 0) },
    { name: "h", dtype: "float16", shape: [], data: Uint16Array.of(0x3c00) },
    { name: "s", dtype: "string", shape: [1], data: ["grün"] },
  ];
  const defaultsOf = (initializers: readonly Initializer[], irVersion = 8) => {
    const inputs = initializers.map(({ name, dtype, shape }) => ({ name, type: { elemType: dtype, shape } }));
    const graph = { name: "g", inputs, outputs: [], nodes: [], initializers };
    const folder = tempFolder({ "m.onnx": encodeModel({ opset: 17, irVersion, graph }) });
    return readModelFile(`${folder}/m.onnx`);
  };

  it("reads the values of inputs that may be replaced", () => {
    const { defaults = {}, hasBoundedRuns } = defaultsOf(DEFAULTS) ?? {};
    expect({ ...defaults }).toEqual({
      f: createTensor("float32", [2], Float32Array.of(0.5, -1)),
      i: createTensor("int64", [1], BigInt64Array.of(-(2n ** 63n))),
      b: createTensor("bool", [2], Uint8Array.of(1, 0)),
      h: createTensor("float16", [], Uint16Array.of(0x3c00)),
      s: createTensor("bytes", [1], [new TextEncoder().encode("grün")]),
    });
    expect(hasBoundedRuns).toBe(false);
  });

  it("reads no values of weights, of other files, and of formats in which every weight is an input", () => {
    const [small] = DEFAULTS as readonly [Initializer];
    const many = Array.from({ length: 17 }, (_, index) => ({ ...small, name: `w${index}` }));
    const large = { ...small, name: "large", shape: [20_000], data: new Float32Array(20_000) };
    const external = { file: "other.bin", offset: 0, length: 8 };
    const elsewhere = { name: "elsewhere", dtype: "float32", shape: [2], external } as const;
    expect({ ...defaultsOf(many)?.defaults }).toEqual({});
    expect({ ...defaultsOf([small, large])?.defaults }).toEqual({});
    expect(Object.keys(defaultsOf([small, elsewhere])?.defaults ?? {})).toEqual(["f"]);
    expect({ ...defaultsOf([small], 3)?.defaults }).toEqual({});
  });

  it("reads values in fields of their own type", () => {
    // TensorProto: dims, data_type, then float_data, int64_data, or int32_data with the bits of float16.
    const proto = (type: number, ...values: number[]) => Uint8Array.of(0x08, 2, 0x10, type, ...values);
    const floats = proto(1, 0x22, 8, ...Buffer.from(Float32Array.of(1, 2).buffer));
    expect(readInitializer(floats)).toEqual(createTensor("float32", [2], Float32Array.of(1, 2)));
    expect(readInitializer(proto(7, 0x3a, 2, 1, 2))).toEqual(createTensor("int64", [2], BigInt64Array.of(1n, 2n)));
    expect(readInitializer(proto(10, 0x28, 1, 0x28, 2))).toEqual(createTensor("float16", [2], Uint16Array.of(1, 2)));
    expect(readInitializer(proto(1, 0x22, 4, 0, 0, 0, 0))).toBeUndefined();
    expect(readInitializer(proto(1, 0x22, 7, 0, 0, 0, 0, 0, 0, 0))).toBeUndefined();
    expect(readInitializer(proto(14))).toBeUndefined();
  });

  it("finds the inputs behind more weights than it reads at a time", () => {
    const type = { elemType: "float32", shape: [2] } as const;
    const weights = Array.from({ length: 3 }, (_, index) => `w${index}`).map((name) => {
      return { name, dtype: "float32", shape: [100_000], data: new Float32Array(100_000) } as const;
    });
    const graph = { name: "g", inputs: [{ name: "x", type }], outputs: [{ name: "y", type }], nodes: [] };
    const folder = tempFolder({ "big.onnx": encodeModel({ opset: 17, graph: { ...graph, initializers: weights } }) });
    const file = readModelFile(`${folder}/big.onnx`);
    expect(file?.inputs.map(({ name }) => name)).toEqual(["x"]);
    expect(file?.initializers).toEqual(new Set(["w0", "w1", "w2"]));
  });

  it("leaves ONNX Runtime's own format to the runtime", () => {
    const folder = tempFolder({ "model.ort": Buffer.from("\x18\0\0\0ORTM rest") });
    expect(readModelFile(`${folder}/model.ort`)).toBeUndefined();
  });

  it.each([
    ["no/such.onnx", 'No model file at "no/such.onnx"; expected a .onnx or .ort file there; the path counts from'],
    [
      "package.json/model.onnx",
      'No model file at "package.json/model.onnx"; expected a .onnx or .ort file there; the path counts from',
    ],
    [
      "test/fixtures/models/empty.onnx",
      'The model file "test/fixtures/models/empty.onnx" is empty; export or download it again.',
    ],
    ["test/fixtures/models/truncated.onnx", "is cut short: it has 100 bytes of at least "],
    ["test/fixtures/models/not-a-model.onnx", "is not an ONNX model: it looks like plain text; expected a model"],
    ["test/fixtures/models/lfs-pointer.onnx", 'a Git LFS pointer; run "git lfs pull"'],
    ["test/fixtures/models", '"test/fixtures/models" is a folder; expected a .onnx file.'],
    ["test/drivers", '"test/drivers" is a folder; expected a .onnx file.'],
  ])("refuses %s and says why", (path, message) => {
    expect(() => readModelFile(path)).toThrow(
      expect.objectContaining({ code: "failed_precondition", message: expect.stringContaining(message) }),
    );
  });

  it("refuses a file that cannot be read and says why", () => {
    const path = `${tempFolder()}/model.onnx`;
    symlinkSync(path, path);
    expect(() => readModelFile(path)).toThrow(
      /model\.onnx" is a link that leads back to itself; expected one that the server may read\.$/,
    );
  });

  it("says what else a file looks like", () => {
    const folder = tempFolder({ "model.onnx": Buffer.from("\x1c\0\0\0TFL3", "latin1") });
    const message = "is not an ONNX model: it looks like a TensorFlow Lite model; its driver is tensorflow.";
    expect(() => readModelFile(`${folder}/model.onnx`)).toThrow(message);
  });

  it.each([
    ["bytes that mean nothing", [0xff, 0xfe, 0xfd]],
    ["a number that never ends", Array(20).fill(0x80)],
    ["a message without a graph", [0x08, 0x08]],
    ["field number 0", [0x00, 0x00]],
  ])("refuses %s", (_what, content) => {
    const folder = tempFolder({ "model.onnx": Uint8Array.from(content) });
    expect(() => readModelFile(`${folder}/model.onnx`)).toThrow(
      /is not an ONNX model; expected the file that an export to ONNX writes\.$/,
    );
  });
});
