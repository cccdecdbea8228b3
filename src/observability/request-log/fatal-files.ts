import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../errors.ts";
import { shellWord } from "../../platform/text/terminal.ts";
import type { Logger } from "../logger.ts";
import { systemProblem } from "./log-files.ts";

/** Files in a folder, at most. */
const MAX_FILES = 16;
/** Milliseconds in which a model's requests are lost by one end of its process. */
const ONE_END_MS = 1000;
const FATAL_NAME = /^fatal-.*-(\d{8}T\d{6}\.\d{3}Z)\.tfrecord$/;
const SETTING = "--keep-fatal-requests";
/** Read by their owner alone: requests may hold private data. */
const MODE = 0o700;
/** Process, its start, the request's number, and the model. */
const UNDER_WAY_NAME = /^\.under-way-(\d+)-(\d+)-(\d+)-(.+)$/;
/** Two processes of one number were started at different times. */
const STARTED_MS = Math.floor(performance.timeOrigin);
/** Characters of a model's name: file names have 255 bytes. */
const MAX_NAME = 150;
const OPTIONS = { mode: 0o600, flag: "wx" } as const;
/** Bytes above which the main thread does not wait for the disk. */
const LARGE_BYTES = 1024 * 1024;

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
      const [, stamp] = FATAL_NAME.exec(name) ?? [];
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

/** A record that lies in its folder for as long as its request runs, and longer if the process ends meanwhile. */
export interface UnderWayFile {
  readonly path: string;
  /** The model's name as a part of file names. */
  readonly model: string;
  /** Arrival, in milliseconds since 1970. */
  readonly timeMs: number;
}

const open = new Set<string>();
let lastNumber = 0;

/** A model's name as a part of file names. */
function fileNameOf(model: string): string {
  return encodeURIComponent(model).slice(0, MAX_NAME);
}

/** Writes a record; rejects with the system's error. A small one is there once this returns. */
async function writeUnderWay(folder: string, model: string, record: Uint8Array): Promise<UnderWayFile> {
  const name = fileNameOf(model);
  const path = join(folder, `.under-way-${process.pid}-${STARTED_MS}-${++lastNumber}-${name}`);
  if (open.size === 0) process.on("exit", removeUnderWay);
  open.add(path);
  try {
    if (record.length <= LARGE_BYTES) writeFileSync(path, record, OPTIONS);
    else await writeFile(path, record, OPTIONS);
  } catch (reason) {
    removeFile({ path });
    throw reason;
  }
  return { path, model: name, timeMs: Date.now() };
}

/** Removes a file whose request has ended; does nothing if it is gone. */
export function removeFile({ path }: Pick<UnderWayFile, "path">): void {
  forget({ path });
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or its folder is read-only by now: a later start tries again.
  }
}

/** Leaves a file alone from now on. */
function forget({ path }: Pick<UnderWayFile, "path">): void {
  open.delete(path);
  if (open.size === 0) process.off("exit", removeUnderWay);
}

/** Removes the files of this process: if it ends by its own decision, no request has ended it. */
export function removeUnderWay(): void {
  for (const path of open) removeFile({ path });
}

/** Whole files of processes that have ended, in the order of their requests; parts of files are removed. */
function leftBehind(folder: string): UnderWayFile[] {
  const found = readdirSync(folder).flatMap((name) => {
    const [, pid, startedMs, number, model] = UNDER_WAY_NAME.exec(name) ?? [];
    if (model === undefined || lives(Number(pid), Number(startedMs))) return [];
    return [{ path: join(folder, name), model, number: Number(number) }];
  });
  const files = found.toSorted((one, other) => one.number - other.number);
  for (const file of files) if (!isWhole(file.path)) removeFile(file);
  return files.flatMap(({ path, model }) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? [] : [{ path, model, timeMs: stats.mtimeMs }];
  });
}

function lives(pid: number, startedMs: number): boolean {
  if (pid === process.pid) return startedMs === STARTED_MS;
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    return systemCode(reason) !== "ESRCH";
  }
}

/** A process that ends while it writes a record has not begun to run its request. */
function isWhole(path: string): boolean {
  const head = Buffer.alloc(8);
  const file = openSync(path, "r");
  try {
    const isRead = readSync(file, head, 0, head.length, 0) === head.length;
    return isRead && BigInt(statSync(path).size) === head.readBigUInt64LE() + 16n;
  } finally {
    closeSync(file);
  }
}
