import type { Logger } from "../../observability/logger.ts";
import type { AspiredVersion } from "../aspired-model.ts";

/** Models, or folders of them, that a check looks at together: one may be on a server that takes long to answer. */
export const SCANS_AT_ONCE = 32;

/** State that all checks of a repository share, and the options of the present one. */
export class ScanState {
  readonly log: DistinctLog;
  readonly #quiet: QuietFiles;
  #atOnce: boolean | string = true;

  /** `quietMs` is the time without a change after which a file counts as written, in milliseconds. */
  constructor(log: Logger, quietMs: number) {
    this.log = new DistinctLog(log);
    this.#quiet = new QuietFiles(quietMs);
  }

  /** Begins a check; `atOnce` takes files as they are, either for all models or for the model of this name. */
  begin(atOnce: boolean | string): void {
    this.#atOnce = atOnce;
    this.log.nextScan();
    this.#quiet.nextScan();
  }

  /**
   * Checks that the files of a model, or of all (an empty name), are no longer being written: see
   * {@link QuietFiles.isQuiet}.
   */
  isSettled([model, what]: SettledKey, state: string, changedMs?: number): boolean {
    const isQuiet = this.#quiet.isQuiet(`${model}\0${what}`, state, changedMs);
    return isQuiet || this.#atOnce === true || (model !== "" && this.#atOnce === model);
  }
}

/** The name of a part of a model. */
type SettledKey = readonly [model: string, what: string | bigint];

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
   * A version in the state in which it may be loaded now: the former one while its files change, undefined if there
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

/**
 * Age from which files count as written at once, in milliseconds; a lower limit could be a difference of clocks with
 * another machine's disk.
 */
const OLD_MS = 60_000;

interface Seen {
  readonly state: string;
  readonly since: number;
}

/** Measures for how long files have been unchanged, so that none is used while it is being written. */
class QuietFiles {
  readonly #quietMs: number;
  #before = new Map<string, Seen>();
  #now = new Map<string, Seen>();

  /** `quietMs` is the time without a change after which a file counts as written, in milliseconds. */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Begins the next check; forgets the files that the last one did not ask for. */
  nextScan(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  /**
   * Checks that a file has been in this state for long enough; `changedMs` is the time of its last change since 1970,
   * if that is known.
   */
  isQuiet(key: string, state: string, changedMs = Number.POSITIVE_INFINITY): boolean {
    const before = this.#before.get(key);
    const seen = before?.state === state ? before : { state, since: performance.now() };
    this.#now.set(key, seen);
    return Date.now() - changedMs > OLD_MS || performance.now() - seen.since >= this.#quietMs;
  }
}

/** Logs the findings of each check; the same text only once while it persists. */
class DistinctLog {
  readonly #log: Logger;
  #before = new Set<string>();
  #now = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Begins the next check. */
  nextScan(): void {
    this.#before = this.#now;
    this.#now = new Set();
  }

  warn(text: string): void {
    if (this.#isNew(text)) this.#log.warn(text);
  }

  error(text: string, err?: unknown): void {
    if (this.#isNew(text)) this.#log.error(text, err === undefined ? {} : { err });
  }

  #isNew(text: string): boolean {
    const isNew = !this.#before.has(text) && !this.#now.has(text);
    this.#now.add(text);
    return isNew;
  }
}
