import type { Driver } from "../drivers/driver.ts";
import { detectDriver } from "../drivers/registry.ts";
import type { StageOptions } from "../repository/stage.ts";

/** A model of a test: a fake one, the path of a real one, or a stage as `createServer` takes it. */
export type TestModel = Driver | string | StageOptions;

/**
 * The stage of a test's model. A real model that is named by its path runs in this
 * thread: none keeps the test's process alive.
 */
export async function toStage(model: TestModel): Promise<StageOptions> {
  if (typeof model === "string") return { driver: (await detectDriver(model)).driver, path: model };
  return "load" in model ? { driver: model } : model;
}
