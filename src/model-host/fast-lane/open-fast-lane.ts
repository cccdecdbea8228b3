import { statSync } from "node:fs";
import { expandAliases, parseOptions } from "../../drivers/option-table.ts";
import { failedPrecondition } from "../../errors.ts";
import { fileStamp } from "../../text/file-stamp.ts";
import { parseHostOptions } from "../host-options.ts";
import type { ModelFacts } from "../model-facts.ts";
import { isSmall, type ModelToLoad, type StartModelOptions } from "../model-to-load.ts";
import { FastLane } from "./fast-lane.ts";
import type { LaneMark } from "./lane-mark.ts";

/**
 * Creates the fast lane of a model that may have one: small, with steady runs, in a
 * thread of this process, not batched.
 */
export function openFastLane(
  source: ModelToLoad,
  facts: ModelFacts,
  { mark, log }: Pick<StartModelOptions, "log"> & { readonly mark: LaneMark },
): FastLane | undefined {
  const { found, path, options: raw } = source;
  const { driver } = found;
  const options = expandAliases(driver.options, raw);
  const { fastLaneUs, batching } = parseHostOptions(options, driver);
  const mayRun = facts.isSteady === true && facts.isolated !== true && batching === undefined && isSmall(source);
  if (driver.loadQuick === undefined || fastLaneUs === 0 || !mayRun) return undefined;
  const stamp = stampOf(path);
  const open = async () => {
    const model = await driver.loadQuick!(path, parseOptions(driver.options, options), { log, threads: 1 });
    if (stampOf(path) === stamp) return model;
    await model.close();
    throw failedPrecondition("The model's file has changed since it was loaded.");
  };
  return new FastLane({ facts, maxMs: fastLaneUs / 1000, open, mark, log });
}

/** Empty where the file is missing. */
function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : fileStamp(stats);
}
