import type { Driver } from "../drivers/driver.ts";
import {
  type OptionSpec,
  type OptionTable,
  parseOptions,
  type RawOptions,
  takesOption,
} from "../drivers/option-table.ts";
import type { FoundDriver } from "../drivers/registry.ts";
import { invalidArgument } from "../errors.ts";
import type { DeclaredHooks } from "../hook-host/hook-protocol.ts";
import { HOST_OPTIONS } from "../model-host/host-options.ts";
import type { Logger } from "../observability/logger.ts";
import { didYouMean } from "../text/nearest.ts";
import { isForOthers } from "./is-for-others.ts";

const COMMON_KEYS = Object.keys(HOST_OPTIONS);

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
 * Checks that every `-o` key is used. A key that no driver has is for the hooks: refused where they declare `options`
 * without it, else accepted with a warning; without hooks it is refused. Keys for all models may be those of another
 * model. Throws `invalid_argument` with the nearest known key.
 */
export async function checkOptionKeys(
  shared: RawOptions,
  stages: readonly StageChoice[],
  hooks: DeclaredHooks | undefined,
  { keysForAll = [], log }: KeyCheck,
): Promise<void> {
  const tables = [HOST_OPTIONS, ...stages.map(({ found }) => found.driver.options)];
  const others = Object.keys(shared).filter((key) => !tables.some((table) => takesOption(table, key)));
  for (const key of others) {
    const isPassedOver = keysForAll.includes(key) && (await isForOthers(key));
    if (!isPassedOver) checkHookKey(key, stages, hooks, log);
  }
  for (const { number, found, options } of stages) assertTakesOptions(found.driver, options, `model ${number}`);
  if (hooks?.options !== undefined) parseOptions(hooks.options, shared);
}

/**
 * Throws `invalid_argument`, with the nearest known key, for an option that neither the driver nor its host has;
 * `whose` is the model's name in the message.
 */
export function assertTakesOptions(driver: Driver, options: RawOptions, whose: string): void {
  const unknown = Object.keys(options).find(
    (key) => !takesOption(driver.options, key) && !takesOption(HOST_OPTIONS, key),
  );
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
