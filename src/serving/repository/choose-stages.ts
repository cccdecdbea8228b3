import type { Driver } from "../../drivers/driver.ts";
import {
  type OptionSpec,
  type OptionTable,
  parseOptions,
  type RawOptions,
  takesOption,
} from "../../drivers/option-table.ts";
import { DRIVER_NAMES, detectDriver, type FoundDriver, findDriver, inThisThread } from "../../drivers/registry.ts";
import { invalidArgument } from "../../errors.ts";
import type { DeclaredHooks } from "../../hooks/host/hook-protocol.ts";
import { PYTHON_HOOK_OPTIONS } from "../../hooks/host/python/copy-python-hooks.ts";
import { HOST_OPTIONS, takesHostOption } from "../../models/host-options.ts";
import type { Logger } from "../../observability/logger.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import type { CleanupStack } from "./fetch-source.ts";
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
 * The stages that are not other models of this server. Waits for every driver even if one is not found, so that the
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

const COMMON_KEYS = Object.keys(HOST_OPTIONS).filter((key) => takesHostOption(key, {}));

/** A stage's driver and its own options. */
export interface StageChoice {
  /** Its place in the pipeline, from 1. */
  readonly number: number;
  readonly found: FoundDriver;
  readonly options: RawOptions;
}

/** Circumstances of a check. */
interface KeyCheck {
  /** Keys that were given for all models of the server. */
  readonly keysForAll?: readonly string[];
  readonly log: Logger;
}

/**
 * Checks that every `-o` key is used. A key that no driver has is for the hooks: refused if they declare `options`
 * without it, else accepted with a warning; without hooks it is refused. Keys for all models may be those of another
 * model. Throws `invalid_argument` with the nearest known key.
 */
export async function checkOptionKeys(
  shared: RawOptions,
  stages: readonly StageChoice[],
  hooks: DeclaredHooks | undefined,
  { keysForAll = [], log }: KeyCheck,
): Promise<void> {
  const isTaken = (key: string) =>
    takesHostOption(key, shared) ||
    stages.some(
      ({ found, options }) => takesOption(found.driver.options, key) || takesHostOption(key, { ...shared, ...options }),
    );
  const others = Object.keys(shared).filter((key) => !isTaken(key));
  for (const key of others) {
    const isPassedOver = keysForAll.includes(key) && (await isForOthers(key));
    if (!isPassedOver) checkHookKey(key, stages, hooks, log);
  }
  for (const { number, found, options } of stages) assertTakesOptions(found.driver, options, `model ${number}`, shared);
  if (hooks?.options !== undefined) parseOptions(hooks.options, shared);
}

/**
 * Throws `invalid_argument`, with the nearest known key, for an option that neither the driver nor its host has;
 * `whose` is the model's name in the message, `shared` the options of all stages.
 */
export function assertTakesOptions(driver: Driver, options: RawOptions, whose: string, shared: RawOptions = {}): void {
  const all = { ...shared, ...options };
  const unknown = Object.keys(options).find((key) => !takesOption(driver.options, key) && !takesHostOption(key, all));
  if (unknown === undefined) return;
  const hint = hintFor(unknown, [driver.options, HOST_OPTIONS]);
  throw invalidArgument(`The ${driver.name} driver of ${whose} has no option "${unknown}".${hint} ${takes([driver])}`);
}

function checkHookKey(
  key: string,
  stages: readonly StageChoice[],
  hooks: DeclaredHooks | undefined,
  log: Logger,
): void {
  const drivers = stages.map(({ found }) => found.driver);
  const table: OptionTable = hooks?.options ?? {};
  if (takesOption(table, key) || hooks?.hostOptions?.includes(key)) return;
  const hint = hintFor(key, [...drivers.map(({ options }) => options), HOST_OPTIONS, table]);
  if (hooks !== undefined && hooks.options === undefined) {
    log.warn(`No driver knows the option "${key}"; it goes to the hooks.${hint}`);
    return;
  }
  const who = hooks === undefined ? "No driver has" : "Neither a driver nor the hooks have";
  throw invalidArgument(`${who} the option "${key}".${hint} ${takes(drivers)}`);
}

/** The nearest known key, which may not be the name of a family of keys alone. */
function hintFor(key: string, tables: readonly OptionTable[]): string {
  if (takesOption(HOST_OPTIONS, key)) return " It is one of models that take texts: add -o texts=true.";
  const specs = tables.flatMap((table) => Object.entries<OptionSpec>(table));
  const isFamily = specs.some(([name, { type }]) => name === key && type === "prefix");
  if (isFamily) return ` "${key}" stands before a name: -o ${key}.NAME=VALUE.`;
  return didYouMean(
    key,
    specs.map(([name]) => name),
  );
}

function takes(drivers: readonly Driver[]): string {
  const unique = [...new Map(drivers.map((driver) => [driver.name, driver])).values()];
  const own = unique.map(({ name, options }) => `${name} takes ${keyTexts(options).join(", ") || "none of its own"};`);
  return `${own.join(" ")} every driver takes ${COMMON_KEYS.join(", ")}.`;
}

/** Keys as written with `-o`: a family of keys is `session.KEY`. */
function keyTexts(table: OptionTable): string[] {
  return Object.entries<OptionSpec>(table).map(([name, { type }]) => (type === "prefix" ? `${name}.KEY` : name));
}

const OF_PYTHON_HOOKS: readonly string[] = PYTHON_HOOK_OPTIONS;

/**
 * Checks if any driver, or hooks in Python, take a `-o` key: given for all models, it is then meant for another one.
 */
async function isForOthers(key: string): Promise<boolean> {
  if (OF_PYTHON_HOOKS.includes(key)) return true;
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  return found.some(({ driver }) => takesOption(driver.options, key));
}
