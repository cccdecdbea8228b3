import type { DriverLocation } from "../../drivers/registry.ts";
import { LOG_LEVELS, type LogLevel } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import type { LoadCommand, ModelThreadData } from "../threads/model-thread-messages.ts";

/** The model that a process is to load, and what it needs to know of the server. */
export interface LoadOrder {
  readonly driver: DriverLocation;
  readonly command: LoadCommand;
  readonly levels: readonly LogLevel[];
  /** Memory that images may take while they are decoded, in bytes; absent = any. */
  readonly imageBytes?: number;
}

/** The number of a process's only model. */
export const MODEL_ID = 0;

/** The order to load a model in a process, as plain data. */
export function toLoadOrder(data: ModelThreadData, log: Logger): LoadOrder {
  const { driver, name, path, options, threads, hookFolder } = data;
  const { limitBytes } = threadMemory;
  return {
    driver,
    command: { id: MODEL_ID, name, path, options, threads, ...(hookFolder !== undefined && { hookFolder }) },
    levels: writtenLevels(log),
    ...(Number.isFinite(limitBytes) && { imageBytes: limitBytes }),
  };
}

/** The levels that a log writes at the moment. */
export function writtenLevels({ level, filter }: Logger): readonly LogLevel[] {
  if (filter === undefined) return LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));
  return LOG_LEVELS.filter((each) => each !== "silent" && filter.writes(each));
}
