import { type FSWatcher, watch } from "node:fs";
import type { AspiredModel } from "../aspired-model.ts";
import type { ModelRepository, ScanOptions } from "./model-repository.ts";

/** Delay of a check after a change in a folder, in milliseconds: changes seldom come alone. */
const CHANGE_MS = 50;
/** Minimum pause after a check, as a multiple of its duration, since the disk may be slow and the files many. */
const IDLE_SHARE = 20;
/** Maximum of that pause, as a multiple of the poll interval. */
const MAX_POLLS = 10;

/** Minimum time between the beginnings of two checks, in milliseconds: a log file may be in the same folder. */
const MIN_IDLE_MS = 250;

/** Settings of polling. */
interface PollOptions {
  /** Time between two checks, in milliseconds; 0 = only on request. */
  readonly pollMs: number;
  /** Called with the models to serve when they have changed. */
  readonly onChange: (models: readonly AspiredModel[]) => void;
}

/** Checks a repository at intervals, and immediately when one of its folders reports a change. */
export class RepositoryPoll {
  readonly #repository: ModelRepository;
  readonly #options: PollOptions;
  readonly #watches = new FolderWatches(() => this.#soon());
  #timer: NodeJS.Timeout | undefined;
  #text = "";
  /** On the clock of performance.now(). */
  #idleUntil = 0;
  #isStopped = false;

  constructor(repository: ModelRepository, options: PollOptions) {
    this.#repository = repository;
    this.#options = options;
  }

  /**
   * Checks now, and takes the files of all models, or of one, as they are; the first check throws errors in the models'
   * descriptions.
   */
  async scan(name?: string): Promise<void> {
    await this.#scan({ atOnce: name ?? true });
    this.#next(this.#options.pollMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#watches.stop();
  }

  async #scan(options: ScanOptions): Promise<void> {
    const models = await this.#repository.scan(options);
    if (this.#isStopped) return;
    if (this.#options.pollMs > 0) this.#watches.follow(this.#repository.folders);
    const text = textOf(models);
    if (text === this.#text) return;
    this.#text = text;
    this.#options.onChange(models);
  }

  #soon(): void {
    this.#next(CHANGE_MS);
  }

  #next(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#options.pollMs === 0) return;
    const waitMs = Math.max(delayMs, this.#idleUntil - performance.now());
    this.#timer = setTimeout(() => void this.#poll(), waitMs).unref();
  }

  async #poll(): Promise<void> {
    const started = performance.now();
    await this.#scan({});
    const ended = performance.now();
    const { pollMs } = this.#options;
    const restMs = Math.min(IDLE_SHARE * (ended - started), MAX_POLLS * pollMs);
    this.#idleUntil = ended + Math.max(restMs, Math.min(pollMs, MIN_IDLE_MS));
    this.#next(pollMs);
  }
}

/** Equal if the same models should be served. */
function textOf(models: readonly AspiredModel[]): string {
  const parts = models.map(({ versions, ...settings }) => [
    settings,
    versions.map(({ version, fingerprint }) => [version, fingerprint]),
  ]);
  return JSON.stringify(parts, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}

/**
 * Watches folders for added, changed and removed entries, if the file system supports it; polling finds the rest.
 */
class FolderWatches {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches these folders instead of the former ones. */
  follow(folders: ReadonlySet<string>): void {
    for (const folder of this.#watchers.keys()) if (!folders.has(folder)) this.#end(folder);
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#begin(folder);
  }

  stop(): void {
    this.follow(new Set());
  }

  #begin(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onChange);
      this.#watchers.set(folder, watcher);
      // For example because the folder is missing, or the system's watches are used up.
      watcher.on("error", () => this.#end(folder));
    } catch {
      // Checked only by polling.
    }
  }

  #end(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}
