import { existsSync, readdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import tensorflow from "../../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { expectTensors } from "../expect-tensors.ts";
import { predict } from "../predict.ts";
import { readCases, type TensorflowCase } from "./tensorflow-cases.ts";

const FOLDER = "test/fixtures/tensorflow-formats";

/**
 * The files of test/fixtures/make/tensorflow-formats.py and test/fixtures/make/tensorflowjs-models.py with one of the
 * endings that Python could run: `NAME/model.h5`.
 */
export function formatModels(...endings: readonly string[]): string[] {
  const names = readdirSync(FOLDER).sort();
  const files = endings.flatMap((ending) => names.map((name) => `${name}/model.${ending}`));
  return files.filter((file) => existsSync(formatModel(file)) && existsSync(`${FOLDER}/${folderOf(file)}/cases.json`));
}

/** The path of one of those files. */
export function formatModel(file: string): string {
  return `${FOLDER}/${file}`;
}

/** Python's results for the first inputs. */
export function formatCase(file: string): TensorflowCase {
  return formatCases(file)[0] as TensorflowCase;
}

/** Python's results. */
export function formatCases(file: string): TensorflowCase[] {
  return readCases(`../tensorflow-formats/${folderOf(file)}`);
}

/** Loads a model for one test, which closes it. */
export async function loadTensorflow(path: string, options: RawOptions = {}): Promise<Model> {
  const model = await openTensorflow(path, options);
  onTestFinished(() => model.close());
  return model;
}

/** Loads a model that the test closes itself, or that is not expected to load. */
export function openTensorflow(path: string, options: RawOptions = {}): Promise<Model> {
  const host = { log: createSilentLogger(), threads: 1 };
  return tensorflow.load(path, parseOptions(tensorflow.options, options), host);
}

/** Fails unless the model answers as Python did; numbers may be off by the tolerance. */
export async function expectAsInPython(file: string, tolerance = 1e-5): Promise<void> {
  const model = await loadTensorflow(formatModel(file));
  for (const { signature, inputs, outputs } of formatCases(file)) {
    expectTensors(await predict(model, inputs, { signature }), outputs, tolerance);
  }
}

function folderOf(file: string): string {
  return file.split("/")[0] as string;
}
