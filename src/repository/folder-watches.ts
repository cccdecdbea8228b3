import { type FSWatcher, watch } from "node:fs";

/** Watches folders for entries that come, change and go, where the file system tells; polling sees the rest. */
export class FolderWatches {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches these folders in place of those of before. */
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
      // As where the folder is gone, or the system has no more watches.
      watcher.on("error", () => this.#end(folder));
    } catch {
      // Looked at with each poll alone.
    }
  }

  #end(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}
