import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DType } from "../../../src/tensor/dtype.ts";
import { toTensor } from "../../../src/tensor/plain-value.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A toy model with a request and the library's own answer. */
interface ModelCase {
  /** Its name in the folder of {@link makeModels}. */
  readonly file: string;
  readonly path: string;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly outputs: Readonly<Record<string, Tensor>>;
}

interface PlainTensor {
  readonly dtype: DType;
  readonly values: unknown;
}

/** Makes the toy models of test/fixtures/make/python-models.py for a library. */
export function makeModels(python: string, library: string): readonly ModelCase[] {
  const folder = tempFolder();
  execFileSync(python, ["test/fixtures/make/python-models.py", folder, library], { stdio: "ignore" });
  const cases = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8")) as readonly PlainCase[];
  return cases.map(({ file, inputs, outputs }) => ({
    file,
    path: join(folder, file),
    inputs: toTensors(inputs),
    outputs: toTensors(outputs),
  }));
}

interface PlainCase {
  readonly file: string;
  readonly inputs: Readonly<Record<string, PlainTensor>>;
  readonly outputs: Readonly<Record<string, PlainTensor>>;
}

function toTensors(plain: Readonly<Record<string, PlainTensor>>): Readonly<Record<string, Tensor>> {
  return Object.fromEntries(
    Object.entries(plain).map(([name, { dtype, values }]) => [name, toTensor(values as never, name, dtype)]),
  );
}
