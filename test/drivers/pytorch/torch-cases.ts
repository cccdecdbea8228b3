import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { createTensor, type Tensor, viewBytes } from "../../../src/tensor/tensor.ts";

/** A toy model in several forms, and what PyTorch itself answers for it. */
interface TorchCase {
  readonly forms: readonly string[];
  readonly class: string;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly outputs: readonly Tensor[];
}

/** The models of test/fixtures/make/torch-models.py, made by the interpreter that then runs them. */
export interface TorchCases {
  readonly folder: string;
  readonly torch: string;
  readonly cases: Readonly<Record<string, TorchCase>>;
}

interface PlainTensor {
  readonly dtype: "float32";
  readonly shape: readonly number[];
  readonly data: string;
}

/** Makes the models; they are deleted after the file's last test. */
export function makeTorchCases(python: string): TorchCases {
  const folder = mkdtempSync(join(tmpdir(), "kserving-torch-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync(python, ["test/fixtures/make/torch-models.py", folder], { stdio: ["ignore", "ignore", "pipe"] });
  const { torch, cases } = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"), (_key, value) =>
    typeof value?.data === "string" ? toTensor(value) : value,
  );
  return { folder, torch, cases };
}

function toTensor({ dtype, shape, data }: PlainTensor): Tensor {
  return createTensor(dtype, shape, viewBytes(dtype, Buffer.from(data, "base64")));
}
