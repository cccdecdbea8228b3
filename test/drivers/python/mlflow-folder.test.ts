import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMlflowExample } from "../../../src/drivers/python/mlflow-folder.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import { exemplify } from "../../../src/tensor/signature/describe-tensors.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const SPLIT = {
  columns: ["age", "city"],
  data: [
    [20, "Rome"],
    [30, "Oslo"],
  ],
};
const ROW = { age: 20, city: "Rome" };

describe("the example of a request in a folder of MLflow", () => {
  it.each<[string, Record<string, unknown>, object | undefined]>([
    ["a table", { "input_example.json": SPLIT }, ROW],
    ["MLflow's request for a table", { "serving_input_example.json": { dataframe_split: SPLIT } }, ROW],
    ["records", { "serving_input_example.json": { dataframe_records: [ROW, {}] } }, ROW],
    ["columns", { "input_example.json": { age: [20, 30], city: "Rome", is: true, gone: null } }, { ...ROW, is: 1 }],
    ["inputs by name", { "serving_input_example.json": { inputs: { age: [20], city: ["Rome"] } } }, ROW],
    ["tensors", { "input_example.json": { inputs: [[1, 2]] } }, undefined],
    ["no rows", { "input_example.json": { columns: ["age"], data: [] } }, undefined],
    ["more than a signature may have", { "input_example.json": { age: 20, more: "a".repeat(600_000) } }, undefined],
    ["texts that are short", { "input_example.json": { city: "Rome", age: 20, note: "a".repeat(201) } }, ROW],
    ["none", {}, undefined],
  ])("is its first row: %s", async (_, files, row) => {
    const texts = Object.entries(files).map(([name, json]) => [name, JSON.stringify(json)]);
    const folder = tempFolder({ MLmodel: "flavors: {}", "model.ubj": "", ...Object.fromEntries(texts) });
    for (const path of [folder, join(folder, "model.ubj")]) {
      const example = await readMlflowExample(path);
      expect(example && Object.fromEntries(example)).toEqual(row);
    }
  });

  it("is not read where the file is damaged, nor beside a model of another kind", async () => {
    const broken = tempFolder({ MLmodel: "flavors: {}", "input_example.json": '{"age": ' });
    const other = tempFolder({ "input_example.json": '{"age": 1}' });
    const paths = [broken, other, ""];
    expect(await Promise.all(paths.map(readMlflowExample))).toEqual([undefined, undefined, undefined]);
  });

  it("is that of the file which the description means, and of no other", async () => {
    const files = {
      "data/model.keras": "",
      "data/other.keras": "",
      "model.onnx": "",
      "input_example.json": '{"x": 1}',
    };
    const keras = tempFolder({ ...files, MLmodel: "flavors:\n  keras:\n    data: data\n" });
    const plain = tempFolder({ ...files, MLmodel: "flavors: {}" });
    const unread = tempFolder({ ...files, MLmodel: "flavors: [" });
    const found = async (folder: string) =>
      Promise.all(Object.keys(files).map(async (name) => (await readMlflowExample(join(folder, name))) !== undefined));
    expect(await found(keras)).toEqual([true, false, false, false]);
    expect(await found(plain)).toEqual([false, false, true, true]);
    expect(await found(unread)).toEqual([false, false, true, true]);
  });

  it("is what the page's form, the banner and the metadata show", async () => {
    const folder = tempFolder();
    cpSync("test/fixtures/mlflow/half", folder, { recursive: true });
    writeFileSync(join(folder, "input_example.json"), '{"x": [3.5, 4], "y": 1}');
    expect(readFileSync(join(folder, "MLmodel"), "utf8")).toContain("onnx");
    const server = await startServer({ stages: [{ path: folder }] });
    expect(await server.exampleInputs()).toMatchObject({ ran: true, inputs: [{ name: "x", element: 3.5 }] });
    const metadata = await (await fetch(`${server.httpUrl}/v2/models/default`)).json();
    const { sample_request: sample } = (metadata as { parameters: { sample_request: string } }).parameters;
    expect(JSON.parse(sample).inputs).toEqual([{ name: "x", datatype: "FP32", shape: [1], data: [3.5] }]);
  });

  it.each<[DType | undefined, unknown[], unknown[]]>([
    ["int64", [3, -3, 2 ** 53 - 1], [1.5, 2 ** 53, "3"]],
    ["uint8", [0, 255], [-1, 256, 1.5]],
    ["bool", [0, 1], [7, 0.5, "1"]],
    ["float32", [1.5, -7], ["1.5"]],
    ["bytes", ["a", ""], [1]],
    [undefined, ["a", 1.5], []],
  ])("has only values that %s holds", (dtype, held, others) => {
    const exampleOf = (value: unknown) => {
      const signatures = { serving_default: { suggestedInputs: [{ name: "x", dtype }] } } as never;
      return exemplify(signatures, new Map([["x", value as string]])).serving_default?.suggestedInputs?.[0]?.example;
    };
    expect(held.map(exampleOf)).toEqual(held);
    expect(others.map(exampleOf)).toEqual(others.map(() => undefined));
  });

  it("is left out where its value is of another kind than the input", async () => {
    const folder = tempFolder();
    cpSync("test/fixtures/mlflow/half", folder, { recursive: true });
    writeFileSync(join(folder, "input_example.json"), '{"x": "many"}');
    const server = await startServer({ stages: [{ path: folder }] });
    expect(await server.exampleInputs()).toMatchObject({ ran: true, inputs: [{ name: "x", element: 0 }] });
  });
});
