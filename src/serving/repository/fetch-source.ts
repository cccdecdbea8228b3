import { basename } from "node:path";
import type { AnyHooks } from "../../hooks/hooks.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ModelStorage } from "../../storage/model-storage.ts";
import { isRemoteAddress, shownAddress } from "../../storage/remote-address.ts";
import { highestVersion, requireStorage } from "./folders/chosen-versions.ts";
import type { StageOptions } from "./stage.ts";

/** The reader of addresses, and the end of the wait for them. */
interface FetchOptions {
  readonly storage?: ModelStorage | undefined;
  readonly signal?: AbortSignal;
  readonly log?: Logger;
}

interface Fetched {
  readonly stages: readonly StageOptions[];
  readonly hooks?: string | AnyHooks;
}

/** The source with local paths in place of addresses; downloads stay in the cache until the cleanup. */
export async function fetchSource<Source extends Fetched>(
  source: Source,
  options: FetchOptions,
  cleanup: CleanupStack,
): Promise<Source> {
  const stages: StageOptions[] = [];
  for (const stage of source.stages)
    stages.push(stage.path === undefined ? stage : { ...stage, path: await fetchPath(stage.path, options, cleanup) });
  if (typeof source.hooks !== "string") return { ...source, stages };
  return { ...source, stages, hooks: await fetchPath(source.hooks, options, cleanup) };
}

/**
 * The local path for an address, as {@link fetchSource} has it; a path is returned unchanged. An archive of versions
 * means the highest of them.
 */
export async function fetchPath(
  path: string,
  { storage: given, signal = NEVER, log }: FetchOptions,
  cleanup: CleanupStack,
): Promise<string> {
  if (!isRemoteAddress(path)) return path;
  const storage = requireStorage(given, path);
  const copy = await storage.fetch(path, signal);
  cleanup.add(async () => copy.release());
  const version = (await storage.isArchive(path)) ? await highestVersion(copy.path) : undefined;
  if (version === undefined) return copy.path;
  log?.info(`${shownAddress(path)} is an archive of versions: ${basename(version)}, the highest, is what it means`);
  return version;
}

const NEVER = new AbortController().signal;

/**
 * Downloads addresses before a load begins, so that a slow server takes no other
 * load's time; undefined if nothing is remote.
 */
export function prefetch(
  places: readonly (string | AnyHooks | undefined)[],
  storage: ModelStorage | undefined,
): ((signal: AbortSignal) => Promise<void>) | undefined {
  const addresses = places.filter((place) => typeof place === "string").filter(isRemoteAddress);
  if (addresses.length === 0) return undefined;
  return async (signal) => {
    const fetched = addresses.map((address) => requireStorage(storage, address).fetch(address, signal));
    const results = await Promise.allSettled(fetched);
    for (const result of results) if (result.status === "fulfilled") result.value.release();
    for (const result of results) if (result.status === "rejected") throw result.reason;
  };
}

/** Steps that free what was created, run once, in reverse order. */
export class CleanupStack {
  readonly #steps: (() => Promise<void>)[] = [];
  #done: Promise<void> | undefined;

  add(step: () => Promise<void>): void {
    this.#steps.push(step);
  }

  /** Runs all steps, even if one fails; rejects with the first failure. */
  run(): Promise<void> {
    this.#done ??= this.#run();
    return this.#done;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) await step().catch((reason) => failures.push(reason));
    if (failures.length > 0) throw failures[0];
  }
}
