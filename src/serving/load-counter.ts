import type { VersionStatus } from "./version-status.ts";

/** Loads of one version of a model until now. */
export interface LoadCounts {
  readonly model: string;
  readonly version: bigint;
  readonly succeeded: number;
  readonly failed: number;
}

/** Counts the loads of versions by the changes of their status. */
export class LoadCounter {
  readonly #counts = new Map<string, LoadCounts>();
  /** The last reported status, by version. */
  readonly #statuses = new Map<string, VersionStatus>();

  /** To be called after each change of a version's status. */
  note(status: VersionStatus): void {
    const { model, version, generation, error } = status;
    const key = `${version}/${model}`;
    const known = this.#statuses.get(key);
    // A version that was unloaded begins at 0 again.
    const before = known !== undefined && known.generation <= generation ? known.generation : 0;
    const { succeeded = 0, failed = 0 } = this.#counts.get(key) ?? {};
    const isNewFailure = error !== undefined && error !== known?.error;
    this.#statuses.set(key, status);
    this.#counts.set(key, {
      model,
      version,
      succeeded: succeeded + generation - before,
      failed: isNewFailure ? failed + 1 : failed,
    });
  }

  /** The counts of versions that are still known; all others are forgotten. */
  counts(known: readonly Pick<VersionStatus, "model" | "version">[]): readonly LoadCounts[] {
    const keys = new Set(known.map(({ model, version }) => `${version}/${model}`));
    for (const key of this.#counts.keys()) {
      if (keys.has(key)) continue;
      this.#counts.delete(key);
      this.#statuses.delete(key);
    }
    return [...this.#counts.values()];
  }
}
