import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../../platform/text/terminal.ts";
import type { Logger } from "../logger.ts";
import { systemProblem } from "./log-files.ts";
import { fileNameOf, forget, leftBehind, removeFile, type UnderWayFile, writeUnderWay } from "./under-way-files.ts";

/** Files in a folder, at most. */
const MAX_FILES = 16;
/** Milliseconds in which a model's requests are lost by one end of its process. */
const ONE_END_MS = 1000;
const NAME = /^fatal-.*-(\d{8}T\d{6}\.\d{3}Z)\.tfrecord$/;
const SETTING = "--keep-fatal-requests";
/** Read by their owner alone: requests may hold private data. */
const MODE = 0o700;

/** An end of a model's process, and the number of its requests that were kept. */
interface KeptEnd {
  readonly atMs: number;
  count: number;
}

/** The folder in which requests lie that have ended a process, `fatal-MODEL-TIME.tfrecord`, for `kserving replay`. */
export class FatalFiles {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #told = new Set<string>();
  readonly #ends = new Map<string, KeptEnd>();

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * Makes the folder, and keeps what earlier processes have left there: the requests of these models if it has any,
   * else all. Warns if that is not possible.
   */
  open(models: readonly string[]): void {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: MODE });
      accessSync(this.#folder, constants.W_OK);
      this.#recover(new Set(models.map(fileNameOf)));
    } catch (reason) {
      this.#warnOnce(`requests that end the process will not be kept: ${this.#problem(reason)}`);
    }
  }

  /** Writes a record before its request runs; undefined, with a line of the log, if that is not possible. */
  async begin(model: string, record: Uint8Array): Promise<UnderWayFile | undefined> {
    try {
      return await writeUnderWay(this.#folder, model, record);
    } catch (reason) {
      this.lose(this.#problem(reason));
      return undefined;
    }
  }

  /** Says why requests are not kept: each reason once. */
  lose(reason: string): void {
    this.#warnOnce(`a request would not be kept if it ended the process: ${reason}`);
  }

  /** Keeps a request whose model's process has ended: the first ones of each end, among which is the cause. */
  keep(file: UnderWayFile): void {
    const { model } = file;
    const known = this.#ends.get(model);
    const end = known !== undefined && Date.now() - known.atMs < ONE_END_MS ? known : { atMs: Date.now(), count: 0 };
    this.#ends.set(model, end);
    if (++end.count > MAX_FILES) removeFile(file);
    else this.#keepAll([file]);
  }

  #recover(models: ReadonlySet<string>): void {
    const left = leftBehind(this.#folder);
    const ofModels = left.filter(({ model }) => models.has(model));
    const kept = (ofModels.length > 0 ? ofModels : left).slice(0, MAX_FILES);
    const isKept = new Set(kept);
    for (const file of left) if (!isKept.has(file)) removeFile(file);
    this.#keepAll(kept);
  }

  #keepAll(files: readonly UnderWayFile[]): void {
    try {
      for (const file of files) this.#rename(file);
      this.#removeOld();
    } catch (reason) {
      this.lose(this.#problem(reason));
    }
  }

  #rename(file: UnderWayFile): void {
    const path = this.#freePath(file);
    renameSync(file.path, path);
    forget(file);
    const text = `a request that was under way when its process ended is kept in ${path}; \`kserving replay ${shellWord(path)} --against HOST:PORT\` sends it again`;
    this.#log.warn(text, { file: path });
  }

  #freePath({ model, timeMs }: UnderWayFile): string {
    for (let ms = timeMs; ; ms++) {
      const stamp = new Date(ms).toISOString().replaceAll(/[-:]/g, "");
      const path = join(this.#folder, `fatal-${model}-${stamp}.tfrecord`);
      if (!existsSync(path)) return path;
    }
  }

  #removeOld(): void {
    const names = readdirSync(this.#folder).flatMap((name) => {
      const [, stamp] = NAME.exec(name) ?? [];
      return stamp === undefined ? [] : [{ name, stamp }];
    });
    const oldest = names.toSorted((one, other) => (one.stamp < other.stamp ? -1 : 1)).slice(0, -MAX_FILES);
    for (const { name } of oldest) rmSync(join(this.#folder, name), { force: true });
  }

  #problem(reason: unknown): string {
    return systemProblem(this.#folder, reason, SETTING);
  }

  #warnOnce(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#log.warn(text);
  }
}
