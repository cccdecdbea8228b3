import type { StartModelThread } from "../threads/start-model-thread.ts";
import { ModelProcess, type ModelProcessData } from "./model-process.ts";
import { createSharedFiles } from "./shared-files.ts";

/** Data that a model's process needs in addition to those of a thread. */
type OwnProcess = Pick<ModelProcessData, "environment">;

/**
 * Functions that start a model in its own process, and again when that has ended;
 * the signal gives up the first load.
 */
export function processStarts(
  own: OwnProcess,
  signal: AbortSignal | undefined,
): { readonly start: StartModelThread; readonly startAlone: StartModelThread } {
  const startUntil = (given?: AbortSignal): StartModelThread => {
    return async (data, log) =>
      new ModelProcess({ ...data, ...own, signal: given, files: await createSharedFiles() }, log).load();
  };
  return { start: startUntil(signal), startAlone: startUntil() };
}
