import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { expectTensors } from "../../expect-tensors.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { loadTensorflow } from "../format-models.ts";
import { tensorflowRuntime } from "../native/tensorflow-runtime.ts";
import { readCases, tensorflowModel } from "../tensorflow-cases.ts";

const missing = await missingRuntime("A type that a signature gets wrong", tensorflowRuntime);
const ENGINES = missing === undefined ? ["native", "portable"] : ["portable"];

const DT_FLOAT = 1;
const DT_STRING = 7;

/** The model parse_example, whose signature declares floats where its graph takes strings. */
function mistaken(): string {
  const folder = tempFolder();
  cpSync(tensorflowModel("parse_example"), folder, { recursive: true });
  const file = join(folder, "saved_model.pb");
  const bytes = readFileSync(file);
  const input = Buffer.from("serving_default_examples:0\x10\x07", "latin1");
  const at = bytes.indexOf(input) + input.length - 1;
  expect(bytes[at]).toBe(DT_STRING);
  bytes[at] = DT_FLOAT;
  writeFileSync(file, bytes);
  return folder;
}

describe.each(ENGINES)("a signature that declares another type than the graph takes, in the %s engine", (engine) => {
  it("takes the graph's, and still reports the declared one", async () => {
    const lib = engine === "native" ? { tensorflow_lib: await tensorflowRuntime() } : {};
    const model = await loadTensorflow(mistaken(), { engine, ...lib });
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toMatchObject([
      { name: "examples", dtype: "bytes", declaredDType: "float32", nativeName: "serving_default_examples:0" },
    ]);
    for (const { inputs, outputs } of readCases("parse_example")) {
      expectTensors(await predict(model, inputs), outputs, 1e-5);
    }
  });
});
