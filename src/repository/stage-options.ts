import type { Driver } from "../drivers/driver.ts";
import { type OptionTable, parseOptions, type RawOptions, takesOption } from "../drivers/option-table.ts";
import { ServingError } from "../errors.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import { didYouMean } from "../nearest.ts";
import type { Logger } from "../observability/logger.ts";

/** A stage's driver and the options meant for it alone. */
export interface StageChoice {
  readonly driver: Driver;
  readonly options: RawOptions;
}

/**
 * Checks that every `-o` key has a taker. A key that no driver knows is for the hooks: refused where they declare `options` and lack it,
 * else accepted with a warning; without hooks it is refused. Throws `invalid_argument` with the nearest known key.
 */
export function checkOptionKeys(
  shared: RawOptions,
  stages: readonly StageChoice[],
  hooks: HookSet | undefined,
  log: Logger,
): void {
  for (const key of Object.keys(shared)) {
    if (!stages.some(({ driver }) => takesOption(driver.options, key))) checkHookKey(key, stages, hooks, log);
  }
  for (const [index, { driver, options }] of stages.entries()) {
    const unknown = Object.keys(options).find((key) => !takesOption(driver.options, key));
    if (unknown === undefined) continue;
    throw new ServingError(
      "invalid_argument",
      `The ${driver.name} driver of model ${index + 1} has no option "${unknown}".${didYouMean(unknown, Object.keys(driver.options))} ${takes([driver])}`,
    );
  }
  if (hooks?.options !== undefined) parseOptions(hooks.options, shared);
}

function checkHookKey(key: string, stages: readonly StageChoice[], hooks: HookSet | undefined, log: Logger): void {
  const drivers = stages.map(({ driver }) => driver);
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
