import { type FSWatcher, watch } from "node:fs";

/**
 * Watches folders for added, changed and removed entries, where the file system supports it; polling finds the rest.
 */
export class FolderWatches {
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
