import type { AspiredVersion } from "../serving/aspired-model.ts";

/** The versions of one model that were seen by earlier checks, and the disk that they were on. */
export class KnownVersions {
  readonly #quietMs: number;
  /** Versions that were served at some time: their files count as written. */
  readonly #settled = new Map<bigint, AspiredVersion>();
  /** Versions whose files were being written. */
  readonly #unsettled = new Set<bigint>();
  /** Times on the clock of performance.now() since which each has been there. */
  readonly #since = new Map<bigint, number>();
  #disk: number | undefined;

  /** `quietMs` is the time without a change after which files count as written, in milliseconds. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /**
   * A version in the state in which it may be loaded now: the former one while its files change, undefined where there
   * was none.
   */
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

  /** The number of the disk of the model's folder at the last check that found versions. */
  get disk(): number | undefined {
    return this.#disk;
  }

  /** Versions that were served at some time, and whose files are still there. */
  get present(): readonly bigint[] {
    return [...this.#settled.keys()];
  }

  /** Ends a check, which has seen these versions on a disk. */
  saw(available: ReadonlySet<bigint>, disk?: number): void {
    this.#disk = disk;
    for (const known of [this.#settled, this.#unsettled, this.#since])
      for (const version of known.keys()) if (!available.has(version)) known.delete(version);
    for (const version of available) if (!this.#since.has(version)) this.#since.set(version, performance.now());
  }

  /**
   * Adds a version that was not wanted until now but has existed for long, for example after the version above it was
   * removed.
   */
  #isLongThere(version: bigint): boolean {
    const since = this.#since.get(version);
    const wasWanted = this.#settled.has(version) || this.#unsettled.has(version);
    return since !== undefined && !wasWanted && performance.now() - since >= this.#quietMs;
  }
}
