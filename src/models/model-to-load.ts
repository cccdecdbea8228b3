import type { RawOptions } from "../drivers/option-table.ts";
import type { FoundDriver } from "../drivers/registry.ts";
import type { Logger } from "../observability/logger.ts";
import { mayTakeTexts } from "./texts/text-options.ts";
import type { KeptThreads } from "./threads/kept-threads.ts";
import type { SharedThreads } from "./threads/shared-threads.ts";

/** A model as the command line or a hook names it. */
export interface ModelToLoad {
  readonly found: FoundDriver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** The name by which clients know it; default: its path. */
  readonly name?: string;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** The size of its files; absent = not known. */
  readonly fileBytes?: number;
}

/** Settings of the host. */
export interface StartModelOptions {
  /** Copies of the model, each in its own thread. */
  readonly instances: number;
  /** Threads that each copy's runtime may use; absent = the cores divided by the instances. */
  readonly threads?: number;
  /** Milliseconds of a still model thread after which it is replaced; 0 = never. */
  readonly modelStallMs: number;
  /** Runs each copy in its own process, which may crash without the server. Default false. */
  readonly isolate?: boolean;
  /** Ends loading in a process, of the server or of the driver; threads cannot be ended. */
  readonly signal?: AbortSignal;
  /** Threads for small models; absent = each model has its own. */
  readonly sharedThreads?: SharedThreads;
  /** Threads that other models have left; absent = each model's thread ends with it. */
  readonly keptThreads?: KeptThreads;
  readonly log: Logger;
}

/**
 * Checks if a model runs in the thread that loads it. One that may take texts has its own whatever its driver declares:
 * finding tokens is work of a processor.
 */
export function runsInline({ found, path, options }: Pick<ModelToLoad, "found" | "path" | "options">): boolean {
  return found.isHere === true || (found.driver.placement === "inline" && !mayTakeTexts(path, options));
}

/** Files of a model that shares a thread, at most: its runs are short, and it loads in no time. */
const SMALL_BYTES = 1024 * 1024;

/** Checks if the files of a model are known to be small. */
export function isSmall({ fileBytes = Number.POSITIVE_INFINITY }: Pick<ModelToLoad, "fileBytes">): boolean {
  return fileBytes <= SMALL_BYTES;
}

/** Checks if a model may share a thread: it is small, and nothing is lost if it is loaded and asked again. */
export function canShareThread(
  source: Pick<ModelToLoad, "found" | "fileBytes">,
  { instances, sharedThreads, isolate }: Pick<StartModelOptions, "instances" | "sharedThreads" | "isolate">,
): boolean {
  const mayShare = sharedThreads !== undefined && isolate !== true;
  return mayShare && source.found.driver.sharesThread === true && instances === 1 && isSmall(source);
}
