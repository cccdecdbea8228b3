import { existsSync } from "node:fs";
import { readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import { listCases, type OperatorCase } from "./operator-case.ts";

/** Of Debian's package libonnx-testdata: ONNX's own cases. */
const DATA = "/usr/share/libonnx-testdata/data";
const FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted"].map((name) => `${DATA}/${name}`);

/** False, with a word on standard error, where the machine lacks the package; throws in CI. */
export function hasOperatorCases(): boolean {
  if (existsSync(DATA)) return true;
  const reason = "ONNX's operator cases are not run: the package libonnx-testdata of Debian has them (see .ci/run)\n";
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return false;
}

/** All cases of the package. */
export function operatorCases(): readonly OperatorCase[] {
  return FOLDERS.flatMap(listCases);
}

/** Checks that requests can carry all values of a case: none is a sequence, a map or an optional. */
export function isOfTensors({ modelPath }: OperatorCase): boolean {
  const { inputs = [], outputs = [] } = readModelFile(modelPath) ?? {};
  return [...inputs, ...outputs].every(({ kind }) => kind === "tensor");
}
