import type { AspiredVersion } from "../serving/aspired-model.ts";

/** The versions of one model that were seen by earlier looks. */
export class KnownVersions {
  readonly #quietMs: number;
  /** Those that were to be served at some time: what was written then is not waited for again. */
  readonly #settled = new Map<bigint, AspiredVersion>();
  /** Those that were being written. */
  readonly #unsettled = new Set<bigint>();
  /** Times on the clock of performance.now() since which each has been there. */
  readonly #since = new Map<bigint, number>();

  /** `quietMs` are the milliseconds without a change after which files count as written. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** A version as it may be loaded now: the one of before while its files change, undefined where there was none. */
  choose(version: AspiredVersion, isQuiet: () => boolean): AspiredVersion | undefined {
    const number = version.version;
    const before = this.#settled.get(number);
    if (before?.fingerprint === version.fingerprint) return before;
    if (!isQuiet() && !this.#isLongThere(number)) {
      this.#unsettled.add(number);
      return before;
    }
    this.#unsettled.delete(number);
    this.#settled.set(number, version);
    return version;
  }

  /** Ends a look, which has seen these versions. */
  saw(available: ReadonlySet<bigint>): void {
    for (const known of [this.#settled, this.#unsettled, this.#since])
      for (const version of known.keys()) if (!available.has(version)) known.delete(version);
    for (const version of available) if (!this.#since.has(version)) this.#since.set(version, performance.now());
  }

  /** Takes a version that was not wanted yet, but has been there for long, as when the one above it is removed. */
  #isLongThere(version: bigint): boolean {
    const since = this.#since.get(version);
    const wasWanted = this.#settled.has(version) || this.#unsettled.has(version);
    return since !== undefined && !wasWanted && performance.now() - since >= this.#quietMs;
  }
}
