import { afterAll, onTestFinished } from "vitest";
import type { Model, PartsModel } from "../../../src/drivers/driver.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { findDriver } from "../../../src/drivers/registry.ts";
import { createSilentLogger, type Logger } from "../../../src/observability/logger.ts";

/** Folder from which test models are imported. */
export const IMPORT_PATH = "test/fixtures/python";

/** Options and limits, in addition to driver and path. */
export interface LoadChoices {
  readonly options?: RawOptions;
  readonly log?: Logger;
}

/** Loads a model that answers once, until the test ends. */
export async function loadModel(name: string, path: string, choices: LoadChoices = {}): Promise<Model> {
  const model = await loadAnyModel(name, path, choices);
  const { predict } = model;
  if (predict === undefined) throw new Error(`A model of ${name} answers in parts alone.`);
  return { ...model, predict };
}

/** Loads a model until the test ends. */
export async function loadAnyModel(name: string, path: string, choices?: LoadChoices): Promise<Model | PartsModel> {
  const model = await open(name, path, choices);
  onTestFinished(() => model.close());
  return model;
}

/** One for all tests of a file or suite that leave nothing in it: the first to ask loads it, the end closes it. */
export function shareModel(name: string, path: string, choices?: LoadChoices): () => Promise<Model | PartsModel> {
  let model: Promise<Model | PartsModel> | undefined;
  afterAll(async () => (await model)?.close());
  return () => {
    model ??= open(name, path, choices);
    return model;
  };
}

async function open(
  name: string,
  path: string,
  { options = {}, log = createSilentLogger() }: LoadChoices = {},
): Promise<Model | PartsModel> {
  const { driver } = await findDriver(name);
  const all = { import_path: IMPORT_PATH, ...options };
  return driver.load(path, parseOptions(driver.options, all), { log, threads: 1 }) as Promise<Model | PartsModel>;
}
