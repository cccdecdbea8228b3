import { statSync } from "node:fs";
import type { QuickModel } from "../../drivers/driver.ts";
import { expandAliases, parseOptions } from "../../drivers/option-table.ts";
import { failedPrecondition } from "../../errors.ts";
import { fileStamp } from "../../platform/text/file-stamp.ts";
import { parseHostOptions } from "../host-options.ts";
import type { ModelFacts } from "../model-facts.ts";
import { isSmall, type ModelToLoad, type StartModelOptions } from "../model-to-load.ts";
import { sumStatistics } from "../queue/run-statistics.ts";
import { type MarkPlace, openMark, type RunMark, whileMarked } from "../run-mark.ts";
import type { ModelClient } from "../threads/model-client.ts";
import { FastLane } from "./fast-lane.ts";
import type { LaneMark } from "./lane-mark.ts";

/** Marks of the runs in the main thread: one that hangs, and one that ends the process. */
interface LaneParts extends Pick<StartModelOptions, "log"> {
  readonly mark: LaneMark;
  readonly place: MarkPlace | undefined;
}

/**
 * Creates the fast lane of a model that may have one: small, with steady runs, in a
 * thread of this process, not batched.
 */
export function openFastLane(
  source: ModelToLoad,
  facts: ModelFacts,
  { mark, place, log }: LaneParts,
): FastLane | undefined {
  const { found, path, options: raw } = source;
  const { driver } = found;
  const options = expandAliases(driver.options, raw);
  const { fastLaneUs, batching } = parseHostOptions(options, driver);
  // What a user's own driver returns is checked where it runs, in its own thread.
  const isOwn = "name" in found.location;
  const isQuick = facts.isSteady === true && facts.decoupled !== true;
  const mayRun = isOwn && isQuick && facts.isolated !== true && batching === undefined && isSmall(source);
  if (driver.loadQuick === undefined || fastLaneUs === 0 || !mayRun) return undefined;
  const stamp = stampOf(path);
  const open = async () => {
    const crash = place && (await openMark(place, log));
    const load = () => driver.loadQuick!(path, parseOptions(driver.options, options), { log, threads: 1 });
    const model = await whileMarked(crash, load);
    if (stampOf(path) === stamp) return withMark(model, crash);
    await model.close();
    throw failedPrecondition("The model's file has changed since it was loaded.");
  };
  return new FastLane({ facts, maxMs: fastLaneUs / 1000, open, mark, log });
}

/** A model whose runs are marked. */
function withMark(model: QuickModel, mark: RunMark | undefined): QuickModel {
  if (mark === undefined) return model;
  const run: QuickModel["run"] = (inputs) => {
    mark.begin();
    try {
      return model.run(inputs);
    } finally {
      mark.end();
    }
  };
  return { run, close: () => model.close() };
}

/** Empty if the file is missing. */
function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : fileStamp(stats);
}

/** A model in another thread, whose short runs are made in this one. */
export function withFastLane(client: ModelClient, lane: FastLane): ModelClient {
  return {
    ...client,
    predict: async (inputs, call) => {
      const outputs = lane.run(inputs, call);
      if (outputs !== undefined) return outputs;
      const trial = lane.observe(inputs, call);
      if (trial === undefined) return client.predict(inputs, call);
      const observed = await client.predict(inputs, { ...call, timeline: trial.timeline });
      trial.end();
      return observed;
    },
    statistics: async () => sumStatistics([await client.statistics(), lane.statistics()]),
    close: async () => {
      await lane.close();
      await client.close();
    },
  };
}
