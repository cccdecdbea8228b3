import type { Driver } from "../drivers/driver.ts";
import { type OptionTable, parseOptions, type RawOptions, takesOption } from "../drivers/option-table.ts";
import type { FoundDriver } from "../drivers/registry.ts";
import { ServingError } from "../errors.ts";
import { HOST_OPTIONS } from "../model-host/host-options.ts";
import { didYouMean } from "../nearest.ts";
import type { Logger } from "../observability/logger.ts";
import type { DeclaredHooks } from "../pipeline/hook-protocol.ts";

/** A stage's driver and the options meant for it alone. */
export interface StageChoice {
  readonly found: FoundDriver;
  readonly options: RawOptions;
}

/**
 * Checks that every `-o` key has a taker. A key that no driver knows is for the hooks: refused where they declare `options` and lack it,
 * else accepted with a warning; without hooks it is refused. Throws `invalid_argument` with the nearest known key.
 */
export function checkOptionKeys(
  shared: RawOptions,
  stages: readonly StageChoice[],
  hooks: DeclaredHooks | undefined,
  log: Logger,
): void {
  for (const key of Object.keys(shared)) {
    const tables = [HOST_OPTIONS, ...stages.map(({ found }) => found.driver.options)];
    if (!tables.some((table) => takesOption(table, key))) checkHookKey(key, stages, hooks, log);
  }
  for (const [index, { found, options }] of stages.entries()) {
    const { driver } = found;
    const unknown = Object.keys(options).find(
      (key) => !takesOption(driver.options, key) && !takesOption(HOST_OPTIONS, key),
    );
    if (unknown === undefined) continue;
    throw new ServingError(
      "invalid_argument",
      `The ${driver.name} driver of model ${index + 1} has no option "${unknown}".${didYouMean(unknown, Object.keys(driver.options))} ${takes([driver])}`,
    );
  }
  if (hooks?.options !== undefined) parseOptions(hooks.options, shared);
}

function checkHookKey(
  key: string,
  stages: readonly StageChoice[],
  hooks: DeclaredHooks | undefined,
  log: Logger,
): void {
  const drivers = stages.map(({ found }) => found.driver);
  const table: OptionTable = hooks?.options ?? {};
  if (takesOption(table, key)) return;
  const known = [...drivers.flatMap(({ options }) => Object.keys(options)), ...Object.keys(table)];
  const hint = didYouMean(key, known);
  if (hooks !== undefined && hooks.options === undefined) {
    log.warn(`No driver knows the option "${key}"; it goes to the hooks.${hint}`);
    return;
  }
  const who = hooks === undefined ? "No driver has" : "Neither a driver nor the hooks have";
  throw new ServingError("invalid_argument", `${who} the option "${key}".${hint} ${takes(drivers)}`);
}

function takes(drivers: readonly Driver[]): string {
  const unique = [...new Map(drivers.map((driver) => [driver.name, driver])).values()];
  return unique
    .map(({ name, options }) => `${name} takes ${Object.keys(options).join(", ") || "no options"}.`)
    .join(" ");
}
