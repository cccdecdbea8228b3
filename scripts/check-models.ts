/**
 * Asks models good, bad, good again: npm run check -- models DRIVER FILE… (or folders), each in a process of its own.
 * Bad are sizes from 0 to 7 and odd ones on the axes that a model leaves open. Afterwards the good answers have to be
 * the same to the bit; prints a line for each model, and fails where one differs or dies.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { findDriver } from "../src/drivers/registry.ts";
import { findExampleInputs } from "../src/models/find-example-inputs.ts";
import { loadHostedModel } from "../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import type { ExampleInput } from "../src/tensor/signature/example-inputs.ts";
import { filledTensor } from "../src/tensor/signature/example-inputs.ts";
import type { TensorSpec } from "../src/tensor/signature/signature.ts";
import { createTensors } from "../src/tensor/tensor.ts";

const SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 9, 31, 33, 47, 63, 255];
const TIMEOUT_MS = 600_000;
const [driverName = "", ...paths] = process.argv.slice(2);

if (process.env.CHECK_MODEL !== undefined) await checkModel(process.env.CHECK_MODEL);
else checkAll();

function checkAll(): void {
  const files = paths.flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : path));
  for (const file of files) {
    const env = { ...process.env, CHECK_MODEL: file };
    const program = ["--import", "tsx", fileURLToPath(import.meta.url), driverName];
    const { stdout, stderr, status, signal } = spawnSync(process.execPath, program, {
      env,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
    });
    const died = status === 0 || status === 1 ? "" : `DIED (${signal ?? status}) ${stderr.trim().slice(-300)}`;
    process.stdout.write(`${file}: ${stdout.trim()}${died}\n`);
    if (status !== 0) process.exitCode = 1;
  }
}

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(onnx|xml|tflite)$/i.test(name)).map((name) => join(folder, name));
}

async function checkModel(path: string): Promise<void> {
  const { driver } = await findDriver(driverName);
  const log = createSilentLogger();
  const threads = Number(process.env.THREADS ?? 1);
  const model = await loadHostedModel({ driver, path, options: {}, threads }, log).catch(({ message }) => {
    process.stdout.write(`is not loaded: ${String(message).slice(0, 150)}`);
    return undefined;
  });
  if (model === undefined) return;
  const signature = model.signatures[model.defaultSignature]!;
  const { inputs, ran } = await findExampleInputs({ ...model, isPure: true }, signature);
  const { signal } = new AbortController();
  const call = { signature: model.defaultSignature, signal };
  const ask = (of: readonly ExampleInput[]) =>
    model.predict(createTensors(of.map((input) => [input.name, filledTensor(input)])), call).catch(({ code }) => code);
  const good = await ask(inputs);
  const counts: Record<string, number> = {};
  for (const bad of variants(inputs, signature.inputs ?? [])) {
    const answer = await ask(bad);
    const outcome = typeof answer === "string" ? answer : "answered";
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (isDeepStrictEqual(await ask(inputs), good)) continue;
    process.stdout.write(`WRONG after ${bad.map(({ name, shape }) => `${name} [${shape}]`)}; `);
    process.exitCode = 1;
  }
  const { renewals } = await model.statistics();
  process.stdout.write(
    `${ran === false ? "no good example; " : ""}${JSON.stringify(counts)}, renewed ${renewals} times`,
  );
  await model.close();
}

/** All open axes at once, and the last one alone. */
function variants(good: readonly ExampleInput[], specs: readonly TensorSpec[]): ExampleInput[][] {
  const isOpen = (name: string, axis: number) => {
    const size = specs.find((spec) => spec.name === name)?.shape?.[axis];
    return size === undefined || typeof size === "object" || size < 0;
  };
  const changed = (size: number, first: number) =>
    good.map((input) => ({
      ...input,
      shape: input.shape.map((own, axis) => (axis >= first && isOpen(input.name, axis) ? size : own)),
    }));
  return SIZES.flatMap((size) => [changed(size, 0), changed(size, 1), changed(size, 3)]).filter(
    (bad) => !isDeepStrictEqual(bad, good),
  );
}
