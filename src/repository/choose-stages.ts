import type { RawOptions } from "../drivers/option-table.ts";
import { detectDriver, type FoundDriver, findDriver, inThisThread } from "../drivers/registry.ts";
import { invalidArgument } from "../errors.ts";
import type { CleanupStack } from "./cleanup-stack.ts";
import { findModel } from "./folders/find-model.ts";
import type { StageOptions } from "./stage.ts";

/** One stage with its driver. */
export interface Stage {
  /** Its place in the pipeline, from 1. */
  readonly number: number;
  readonly found: FoundDriver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
}

/**
 * The stages that are not other models of this server. Waits for every driver even where one is not found, so that the
 * compiled ones are freed.
 */
export async function chooseStages(models: readonly StageOptions[], cleanup: CleanupStack): Promise<Stage[]> {
  if (models.length === 0) {
    throw invalidArgument('No model is given; expected at least one, such as { driver: "null" } for hooks alone.');
  }
  const own = models.map((model, index) => (model.model === undefined ? chooseStage(model, index) : []));
  const choices = await Promise.allSettled(own);
  const stages = choices.flatMap((choice) => (choice.status === "fulfilled" ? choice.value : []));
  for (const { found } of stages) cleanup.add(() => found.dispose());
  const failed = choices.find((choice) => choice.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return stages;
}

/**
 * Finds the model of a stage, which may be the only one in a folder, and its driver. Throws `invalid_argument` for a
 * missing path, `failed_precondition` for an unknown driver.
 */
export async function chooseStage(stage: StageOptions, index: number): Promise<Stage> {
  const { driver: wanted, path: given = "", options = {} } = stage;
  const name = typeof wanted === "object" ? wanted.name : wanted;
  const path = given === "" ? "" : await findModel(given, name);
  const found = await findStageDriver(wanted, path);
  const { driver } = found;
  if (path === "" && !driver.pathless) {
    await found.dispose();
    throw invalidArgument(`The ${driver.name} driver needs a model; expected --model-path PATH with it.`);
  }
  return { number: index + 1, found, path, options };
}

async function findStageDriver(wanted: StageOptions["driver"], path: string): Promise<FoundDriver> {
  if (wanted === undefined) return detectDriver(path);
  return typeof wanted === "object" ? inThisThread(wanted) : findDriver(wanted);
}
