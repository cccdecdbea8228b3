import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { isatty } from "node:tty";
import { reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Server } from "../../server/server.ts";
import { offAsked, onAsked } from "../supervisor/supervised.ts";

/** Editors write a file in several steps; a reload waits until nothing has changed for so long, in milliseconds. */
const QUIET_MS = 50;

/** Settings of reloading. */
export interface ReloadOptions {
  /** Reloads the hooks when one of their files changes too. */
  readonly watch: boolean;
  /** Scans the descriptions and files of named models again. */
  readonly rescan?: (() => Promise<void>) | undefined;
  /** Called when that begins, and when it is over. */
  readonly onReload?: ((isOver: boolean) => void) | undefined;
  readonly log: Logger;
}

/**
 * Scans models and reloads hooks on SIGHUP (which ends the program if its terminal was closed), and as the options
 * say; returns how to stop that.
 */
export function reloadOnDemand(
  server: Pick<Server, "reloadHooks" | "hookSources" | "onState">,
  options: ReloadOptions,
): () => void {
  // Hooks that the scan has found changed are not loaded twice.
  const reload = async () => {
    options.onReload?.(false);
    const since = performance.now();
    await scanModels(options);
    await reloadHooks(server, since, options);
    options.onReload?.(true);
    follow();
  };
  const watches = new SourceWatches(() => void reload(), options.log);
  const follow = () => options.watch && watches.follow(server.hookSources());
  follow();
  const stopFollowing = server.onState(follow);
  // A closed terminal sends this signal too, and its user could not stop a server that went on.
  const hangUp = () => void (isTerminalGone() ? process.kill(process.pid, "SIGINT") : reload());
  // The signal may come before the terminal counts as closed.
  const onHangup = () => void setTimeout(hangUp, process.stdout.isTTY ? QUIET_MS : 0);
  onAsked("SIGHUP", onHangup);
  return () => {
    offAsked("SIGHUP", onHangup);
    stopFollowing();
    watches.stop();
  };
}

async function scanModels({ rescan, log }: ReloadOptions): Promise<void> {
  try {
    await rescan?.();
    if (rescan !== undefined) log.info("models scanned again");
  } catch (reason) {
    log.error(`the models stay as they were: ${reasonText(reason)}`, { err: reason });
  }
}

async function reloadHooks(
  server: Pick<Server, "reloadHooks" | "hookSources">,
  since: number,
  { log, rescan }: ReloadOptions,
): Promise<void> {
  if (server.hookSources().length === 0) {
    if (rescan === undefined)
      log.warn("nothing to reload: there is no hook file, or --workers 0 runs it in the main thread");
    return;
  }
  const started = performance.now();
  try {
    await server.reloadHooks(since);
    log.info("hooks reloaded", { ms: Math.round(performance.now() - started) });
  } catch {
    // The line about the model's state has the reason.
    log.warn("the hooks stay as they were");
  }
}

/** Watches the folders of files: an editor that replaces a file ends a watch of the file itself. */
class SourceWatches {
  readonly #onChange: () => void;
  readonly #log: Logger;
  #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: () => void, log: Logger) {
    this.#onChange = onChange;
    this.#log = log;
  }

  /** A change that is about to be told is told all the same. */
  follow(sources: readonly string[]): void {
    this.#unwatch();
    const folders = new Set(sources.map((source) => dirname(source)));
    this.#watchers = [...folders].flatMap((folder) => {
      const names = new Set(sources.filter((source) => dirname(source) === folder).map((source) => basename(source)));
      return this.#watch(folder, names) ?? [];
    });
  }

  /** Undefined if that is not possible: the folder may be gone, or the system's watches used up. */
  #watch(folder: string, names: ReadonlySet<string>): FSWatcher | undefined {
    const fail = (err: unknown) =>
      this.#log.warn(`${folder} is not watched: ${reasonText(err)}; once it can be, send SIGHUP`, { err });
    try {
      const watcher = watch(folder, (_, name) => {
        if (name !== null && names.has(name)) this.#changed();
      });
      return watcher.on("error", fail);
    } catch (reason) {
      fail(reason);
      return undefined;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#unwatch();
  }

  #unwatch(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  #changed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onChange, QUIET_MS);
  }
}

/** Checks if the terminal at which the program was started has been closed. */
function isTerminalGone(): boolean {
  const { isTTY, fd } = process.stdout;
  return isTTY === true && !isatty(fd);
}
