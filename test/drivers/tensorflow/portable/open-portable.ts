import { onTestFinished } from "vitest";
import type { Model } from "../../../../src/drivers/driver.ts";
import { parseOptions, type RawOptions } from "../../../../src/drivers/option-table.ts";
import tensorflow from "../../../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger, type Logger } from "../../../../src/observability/logger.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";

/** Loads a model of test/fixtures/tensorflow, or a path with a slash, on the portable engine, until the test ends. */
export async function loadPortable(name: string, options: RawOptions = {}, log?: Logger): Promise<Model> {
  const path = name.includes("/") ? name : tensorflowModel(name);
  const parsed = parseOptions(tensorflow.options, { engine: "portable", ...options });
  const model = await tensorflow.load(path, parsed, { log: log ?? createSilentLogger(), threads: 1 });
  onTestFinished(() => model.close());
  return model;
}
