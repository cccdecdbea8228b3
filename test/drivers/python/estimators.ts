import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { DType } from "../../../src/tensor/dtype.ts";
import { toTensor } from "../../../src/tensor/plain-value.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";

/** Toy models of test/fixtures/make/estimators.py. */
export interface Estimators {
  /** Two rows of three features. */
  readonly rows: Tensor<"float32">;
  pathOf(file: string): string;
  /** The library's own answers for the rows. */
  answersOf(file: string): Readonly<Record<string, Tensor>>;
}

interface PlainAnswer {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly unknown[];
}

/** Makes the models of some libraries, each of which takes seconds; they are deleted after the file's last test. */
export function makeEstimators(python: string, ...libraries: readonly [string, ...string[]]): Estimators {
  const folder = mkdtempSync(join(tmpdir(), "kserving-estimators-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const script = "test/fixtures/make/estimators.py";
  execFileSync(python, [script, folder, ...libraries], { stdio: ["ignore", "ignore", "ignore"] });
  const { rows, ...answers } = JSON.parse(readFileSync(join(folder, "answers.json"), "utf8"));
  return {
    rows: createTensor("float32", [2, 3], Float32Array.from(rows.flat())),
    pathOf: (file) => join(folder, file),
    answersOf: (file) =>
      Object.fromEntries(
        Object.entries<PlainAnswer>(answers[file]).map(([name, { dtype, values }]) => [
          name,
          toTensor(values as never, name, dtype),
        ]),
      ),
  };
}

/** The three columns of rows as inputs of their own, `a`, `b` and `c`. */
export function columnsOf({ shape, data }: Tensor<"float32">): Readonly<Record<string, Tensor<"float32">>> {
  const count = shape[0] as number;
  const column = (index: number) => Float32Array.from({ length: count }, (_, row) => data[row * 3 + index] as number);
  return Object.fromEntries(
    ["a", "b", "c"].map((name, index) => [name, createTensor("float32", [count], column(index))]),
  );
}
