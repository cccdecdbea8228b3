import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../test/helpers/run-command.ts";

/** Tensor of 32-bit floats. */
export interface Floats {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** A request with the only right answer. */
export interface Subject {
  readonly model: string;
  readonly input: Floats;
  /** Values of the only output. */
  readonly expected: readonly number[];
}

const FIXTURES = fileURLToPath(new URL("../../test/fixtures", import.meta.url));

/** ONNX's model x / 2 + 2. */
export const HALF: Subject = {
  model: "half",
  input: { name: "x", shape: [3], data: [1.5, 2.25, 5] },
  expected: [2.75, 3.125, 4.5],
};

/** File of {@link HALF}. */
export const HALF_FILE = join(FIXTURES, "models/half-plus-two.onnx");

/** Models of two more formats by their names, which have their tests' cases beside. */
const OTHERS = { half_tensorflow: "tensorflow/half_plus_two", gru_tensorflowjs: "tensorflow-formats/js_gru" };

/** Writes a folder of models, each with one version; returns a request to each. */
export function writeModels(folder: string): readonly Subject[] {
  addVersion(folder, 1);
  const others = Object.entries(OTHERS).map(([model, fixture]) => {
    cpSync(join(FIXTURES, fixture), join(folder, model, "1"), { recursive: true });
    return subjectOf(model, join(folder, model, "1/cases.json"));
  });
  makeReadable(folder);
  return [HALF, ...others];
}

/** Adds a version of {@link HALF}'s model to a folder of models. */
export function addVersion(folder: string, version: number): void {
  const place = join(folder, HALF.model, String(version));
  mkdirSync(place, { recursive: true });
  cpSync(HALF_FILE, join(place, "model.onnx"));
  makeReadable(folder);
}

function makeReadable(folder: string): void {
  runCommand("chmod", ["-R", "a+rX", folder]);
}

function subjectOf(model: string, cases: string): Subject {
  const [{ inputs, outputs }] = JSON.parse(readFileSync(cases, "utf8")) as [Case];
  const [[name, { shape, data }]] = Object.entries(inputs) as [[string, CaseTensor]];
  const [output] = Object.values(outputs) as [CaseTensor];
  return { model, input: { name, shape, data }, expected: output.data };
}

interface CaseTensor {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

interface Case {
  readonly inputs: Readonly<Record<string, CaseTensor>>;
  readonly outputs: Readonly<Record<string, CaseTensor>>;
}
