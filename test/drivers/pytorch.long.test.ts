import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findDriver } from "../../src/drivers/registry.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { makeZip } from "../storage/runtimes/make-zip.ts";
import { describeDriver } from "./driver-contract.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { IMPORT_PATH, loadModel } from "./python/load-model.ts";
import { makeTorchCases, type TorchCases } from "./pytorch/torch-cases.ts";

const python = findPython("The pytorch driver", ["torch"]);
const NONE: TorchCases = { folder: "", torch: "", cases: {} };
const warm = warmPython(python, "torch");
const { folder, cases } = python === undefined ? NONE : makeTorchCases(warm);
const file = (name: string) => join(folder, name);
const rows = (columns: number, ...values: number[]) =>
  createTensor("float32", [values.length / columns, columns], Float32Array.from(values));

/** Names of each net's outputs by the rule of the driver, in the order of its answer. */
const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  net: ["output"],
  conv: ["output"],
  lstm: ["output_0", "output_1.0", "output_1.1"],
  embedding: ["output_0", "output_1"],
  sum: ["output"],
  named: ["double", "mean"],
  half: ["output"],
  mask: ["output_0", "output_1"],
  nested: ["best", "rest.0", "rest.1.negated"],
};

await describeDriver({
  name: "pytorch",
  runtime: async () => {
    if (python === undefined) throw new Error("no Python with torch");
  },
  modelPath: file("named.script.pt"),
  options: { python: warm, inputs: "x:float32[-1,-1]" },
  samples: [
    {
      inputs: { x: rows(2, 1, 2) },
      expected: { double: rows(2, 2, 4), mean: createTensor("float32", [], Float32Array.of(1.5)) },
    },
    {
      inputs: { x: rows(2, 0, 1, 2, 5) },
      expected: { double: rows(2, 0, 2, 4, 10), mean: createTensor("float32", [], Float32Array.of(2)) },
    },
  ],
});

describe.skipIf(python === undefined)("the pytorch driver", () => {
  const load = (name: string, options: Record<string, string> = {}) =>
    loadModel("pytorch", name.includes("/") ? name : file(name), { options: { python: warm, ...options } });

  /** One net in every form that this torch has, the others in one. */
  const forms = Object.entries(cases).flatMap(([net, each]) =>
    each.forms
      .filter((form) => net === "net" || form === (each.forms.includes("script.pt") ? "script.pt" : "state.pt"))
      .map((form) => [net, form] as const),
  );
  it.each(forms)("answers for %s.%s what PyTorch answers", async (net, form) => {
    const { class: model_class, inputs, outputs } = cases[net]!;
    const options: Record<string, string> = { ...FORM_OPTIONS[form] };
    if (form === "state.pt") options.model_class = model_class;
    if (net === "half") options.half = "true";
    const model = await load(`${net}.${form}`, options);
    const given =
      form === "trace.pt"
        ? Object.fromEntries(
            Object.keys(model.hookArgs!.model_inputs!).map((name, at) => [name, Object.values(inputs)[at]!]),
          )
        : inputs;
    const names = OUTPUTS[net]!;
    expectTensors(await predict(model, given), Object.fromEntries(names.map((name, at) => [name, outputs[at]!])));
  });

  it("runs together what waits where batch says so, and answers as one by one", async () => {
    const model = await loadBatched("x:float32[-1,4]");
    const questions = Array.from({ length: 8 }, (_, at) => ({ x: rows(4, at, 2, -at, 1) }));
    const together = await Promise.all(questions.map((inputs) => predict(model, inputs)));
    for (const [at, inputs] of questions.entries()) expectTensors(await predict(model, inputs), together[at]!, 1e-6);
    expect((await model.statistics()).runs).toContainEqual(expect.objectContaining({ rows: 4 }));
  });

  it("refuses to run a model together whose rows are fixed", async () => {
    await expect(loadBatched("x:float32[1,4]")).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^The model cannot be batched: .* expected a first dimension of any size\.$/),
    });
  });

  async function loadBatched(inputs: string) {
    const { driver } = await findDriver("pytorch");
    const options = { python: warm, inputs, batch: "4" };
    const source = { driver, path: file("net.script.pt"), options, threads: 1 };
    const model = await loadHostedModel(source, createSilentLogger());
    onTestFinished(() => model.close());
    return model;
  }

  it("takes any number of rows, one at a time or many", async () => {
    const model = await load("net.script.pt", { inputs: "x:float32[-1,4]" });
    expect(model.signatures.serving_default).toEqual({
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 4] }],
      outputs: [{ name: "output", dtype: "float32", shape: [-1, 2] }],
    });
    const both = await predict(model, cases.net!.inputs);
    const x = (cases.net!.inputs.x as Tensor<"float32">).data;
    const one = await predict(model, { x: createTensor("float32", [1, 4], x.slice(4)) });
    expect((one.output as Tensor<"float32">).shape).toEqual([1, 2]);
    const off = [0, 1].map((at) => Math.abs((one.output!.data[at] as number) - (both.output!.data[at + 2] as number)));
    expect(Math.max(...off)).toBeLessThan(1e-6);
  });

  it.each([
    ["net.state.pt", "toy.nets:Net", "x[-1,4]", { name: "x", dtype: "float32", shape: [-1, 4] }],
    ["embedding.state.pt", "toy.nets:Embedding", "ids[-1,2]", { name: "ids", dtype: "int64", shape: [-1, 2] }],
    ["embedding.state.pt", "toy.nets:Lookup", undefined, { name: "ids", dtype: "int64" }],
  ])("finds for %s of %s with the inputs %s the type that it takes", async (name, model_class, inputs, expected) => {
    const model = await load(name, { model_class, ...(inputs !== undefined && { inputs }) });
    expect(model.signatures.serving_default?.inputs).toEqual([expected]);
  });

  it("names inputs and outputs as the options do", async () => {
    const model = await load("mask.script.pt", { inputs: "values,where", outputs: "masked,kept" });
    const { x, mask } = cases.mask!.inputs as { x: Tensor; mask: Tensor };
    expect(Object.keys(await predict(model, { values: x, where: mask }))).toEqual(["masked", "kept"]);
    await expect(predict(model, { values: x, mask })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'The model has no input "mask". It has values, where.',
    });
    await expect(predict(model, { values: x })).rejects.toThrow('Input "where" is missing.');
  });

  it("takes numbers as forward's numbers, and leaves out what has a default", async () => {
    const model = await load("sum.script.pt");
    const { left, right } = cases.sum!.inputs as { left: Tensor; right: Tensor };
    const factor = createTensor("float64", [], Float64Array.of(2));
    const shift = createTensor("float32", [], Float32Array.of(1));
    const [plain] = cases.sum!.outputs as [Tensor<"float32">];
    expect((await predict(model, { left, right, factor })).output!.data).toEqual(plain.data.map((each) => each * 2));
    expect((await predict(model, { left, right, shift })).output!.data).toEqual(plain.data.map((each) => each + 1));
  });

  it("carries bfloat16, and casts to the type that the options name", async () => {
    const echo = await load("half.script.pt", { dtype: "bfloat16" });
    const x = createTensor("float32", [1, 4], Float32Array.of(1, 2, 3, 4));
    const { output } = await predict(echo, { x });
    expect(output).toMatchObject({ dtype: "bfloat16", shape: [1, 4], data: Uint16Array.of(0, 0x3e80, 0x3f40, 0x3fc0) });
  });

  it("gives hooks the model and its class", async () => {
    const model = await load("net.state.pt", { model_class: "toy.nets:Net" });
    const handles = model.hookArgs as Record<
      "model" | "model_class",
      { call(name: string, args?: unknown[]): Promise<unknown> }
    >;
    expect(model.hookArgs?.driver).toBe("pytorch");
    expect(await handles.model_class.call("describe")).toEqual({ name: "Net" });
    const { x } = cases.net!.inputs as { x: Tensor };
    const result = (await handles.model.call("scaled", [x, 3])) as { scaled: Tensor; factor: number };
    expect(result).toMatchObject({ factor: 3, scaled: { dtype: "float32", shape: [2, 2] } });
    expect(await handles.model.call("first.forward", [x])).toMatchObject({ shape: [2, 8] });
  });

  it.each([
    ["net.state.pt", {}, /weights without a model \(4 tensors\); say which class takes them: -o model_class=/],
    ["net.state.pt", { model_class: "toy.nets:Nets" }, /has no class "Nets". Did you mean "Net"/],
    [
      "net.state.pt",
      { model_class: "toy.nets:Conv" },
      /do not fit Conv: it lacks layers.0.weight, .*; it has beyond them first.weight, first.bias/,
    ],
    [
      "net.state.pt",
      { model_class: "toy.nets:Net", model_args: '{"hidden": 9}' },
      /first.weight is \[8, 4\], expected \[9, 4\].*\(-o model_args\)/,
    ],
    [
      "net.state.pt",
      { model_class: "toy.nets:Net", model_args: '{"hiden": 9}' },
      /It takes \(hidden: ?int ?= ?8, out: ?int ?= ?2\)/,
    ],
    ["net.pickle.pt", { model_class: "toy.nets:Net" }, /holds more than weights.*-o allow_pickle=true/],
    ["net.script.pt", { device: "cuda:7" }, /finds no CUDA device here|the last device here is cuda:/],
    ["net.script.pt", { device: "toaster" }, /expected cpu, cuda, cuda:N or mps/],
    ["net.script.pt", { inputs: "a,b" }, /names 2; forward takes 1: x/],
    [
      "net.script.pt",
      { compile: "true" },
      /needs torch 2\.0 or later; this is 1\.|torch\.compile takes no TorchScript/,
    ],
    [
      "net.state.pt",
      { model_class: "torch.nn:LSTM", model_args: '{"input_size": 1, "hidden_size": 1, "num_layers": 4}' },
      /do not fit LSTM: it lacks weight_ih_l0, (\w+, ){8}\w+ and 6 more; it has beyond them first\.weight/,
    ],
  ])("refuses %s with %o", async (name, options, message) => {
    await expect(load(name, options)).rejects.toThrow(message);
  });

  it("says which torch an exported program needs, or why this one cannot load it", async () => {
    const program = join(tempFolder({ "model.pt2": makeZip({ "model/archive_format": "pt2" }) }), "model.pt2");
    await expect(load(program)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^Exported programs \(\.pt2\) need torch 2\.1 or later; this is 1\.13|^torch 2\.\S+ cannot load this exported program: /,
      ),
    });
  });

  it.each([
    ["has no method forward", "def twice(self, x):\n    return x", /no method forward, .*; it has twice\.$/],
    [
      "takes what no tensor becomes",
      "def forward(self, words: List[str], x):\n    return x",
      /^forward takes "words" as a List\[str\]; requests carry tensors and numbers alone\./,
    ],
  ])("refuses TorchScript that %s", async (_what, method, message) => {
    const place = tempFolder({ "net.py": scriptOf(method) });
    execFileSync(warm, [`${place}/net.py`, `${place}/net.pt`], { stdio: ["ignore", "ignore", "pipe"] });
    await expect(load(`${place}/net.pt`)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });

  it("runs TorchScript whose author has another word for self", async () => {
    const place = tempFolder({ "net.py": scriptOf("def forward(this, x):\n    return x + 1") });
    execFileSync(warm, [`${place}/net.py`, `${place}/net.pt`], { stdio: ["ignore", "ignore", "pipe"] });
    const model = await load(`${place}/net.pt`);
    expectTensors(await predict(model, { x: rows(1, 1, 2) }), { output: rows(1, 2, 3) });
  });

  it("says that an archive is cut short", async () => {
    const whole = readFileSync(file("net.script.pt"));
    const place = tempFolder({ "cut.pt": whole.subarray(0, 1000) });
    await expect(load(`${place}/cut.pt`)).rejects.toThrow('"cut.pt" is cut short: it has 1000 bytes, and the archive');
  });

  it("says what a file is that is no model", async () => {
    const broken = join(tempFolder(), "broken.pt");
    writeFileSync(broken, "not a model");
    await expect(load(broken)).rejects.toMatchObject({
      code: "failed_precondition",
      message:
        '"broken.pt" was not saved by PyTorch: it is neither a zip archive nor a pickle. Expected what torch.jit.save, torch.export.save or torch.save wrote.',
    });
  });

  it.each([
    ["net.script.pt", {}],
    ["net.state.pt", { model_class: "toy.nets:Net" }],
  ])("tells the client of inputs that do not fit %s in PyTorch's words", async (name, options) => {
    const model = await load(name, options);
    const wrong: readonly (readonly [Tensor, RegExp])[] = [
      [rows(3, 1, 2, 3), /^The model refuses the inputs: RuntimeError: .*shapes cannot be multiplied/],
      [createTensor("bytes", [1], [Buffer.from("a")]), /^Input "x" is bytes; PyTorch has no strings\.$/],
    ];
    for (const [x, message] of wrong) {
      const failed = await predict(model, { x }).catch((reason: unknown) => reason);
      expect(failed).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(message) });
      expect((failed as Error).message).not.toMatch(/\/|Traceback/);
    }
  });

  it("finds the class in the model's own folder", async () => {
    const home = tempFolder({ "own_net.py": "from toy.nets import Net\n" });
    const { copyFileSync } = await import("node:fs");
    copyFileSync(file("net.state.pt"), join(home, "weights.pt"));
    const model = await load(home, { model_class: "own_net:Net", import_path: IMPORT_PATH });
    expectTensors(await predict(model, cases.net!.inputs), { output: cases.net!.outputs[0]! });
  });
});

const FORM_OPTIONS: Readonly<Record<string, Record<string, string>>> = { "pickle.pt": { allow_pickle: "true" } };

/** A program that saves a scripted module with one exported method. */
function scriptOf(method: string): string {
  const body = method.replaceAll("\n", "\n    ");
  return `
import sys
from typing import List
import torch

class Net(torch.nn.Module):
    @torch.jit.export
    ${body}

torch.jit.save(torch.jit.script(Net()), sys.argv[1])
`;
}
