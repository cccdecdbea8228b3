import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Tensors } from "../../../src/tensor/tensor.ts";
import { toTensors, type WrittenTensor } from "../tensorflow/tensorflow-cases.ts";

const FOLDER = "test/fixtures/openvino";

/** Results of Python OpenVINO with a model of test/fixtures/make/openvino-models.py. */
interface OpenvinoRun {
  readonly inputs: Tensors;
  readonly outputs: Tensors;
}

/** Names of all models that Python OpenVINO could run. */
export const OPENVINO_MODELS: readonly string[] = readdirSync(FOLDER).filter((name) => readRuns(name).length > 0);

/** Path of a model. */
export function openvinoModel(name: string): string {
  const own = `${FOLDER}/${name}/model.xml`;
  return existsSync(own) ? own : (readFile(name).path as string);
}

/** The model's answers with their inputs, one after the other. */
export function readRuns(name: string): OpenvinoRun[] {
  return readFile(name).runs.map(({ inputs, outputs }) => ({ inputs: toTensors(inputs), outputs: toTensors(outputs) }));
}

interface CasesFile {
  readonly path?: string;
  readonly runs: readonly Readonly<Record<"inputs" | "outputs", Readonly<Record<string, WrittenTensor>>>>[];
}

function readFile(name: string): CasesFile {
  return JSON.parse(readFileSync(`${FOLDER}/${name}/cases.json`, "utf8"));
}
