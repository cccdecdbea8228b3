import { constants } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { systemCode } from "../../errors.ts";

/** Limits of the files of one model. */
export interface FileLimits {
  /** Maximum size of a file, in bytes; a larger record gets its own file. */
  readonly maxBytes: number;
  /** Files that are kept. */
  readonly files: number;
}

/** Only for the owner and the group: requests may contain private data. */
const MODE = 0o640;
const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
const ENDING = ".tfrecord";
const STAMP = /^\d{8}T\d{6}\.\d{3}Z$/;

/**
 * The files of one model, `PREFIX-MODEL-TIME.tfrecord`. They are open only while they are written to, so that they may
 * be moved or deleted at any time; the next records then go to a new file. The rest of a failed write is cut
 * off, so that a file has whole records.
 */
export class LogFiles {
  readonly #folder: string;
  readonly #start: string;
  #path: string | undefined;
  #bytes = 0;

  constructor(prefix: string, model: string) {
    const isFolder = /[/\\]$/.test(prefix);
    this.#folder = isFolder ? prefix : dirname(prefix);
    this.#start = `${isFolder ? "" : `${basename(prefix)}-`}${encodeURIComponent(model)}-`;
  }

  /** The file that is written to, or the beginning of its path. */
  get path(): string {
    return this.#path ?? join(this.#folder, this.#start);
  }

  /** Makes the folder; rejects with the system's error if it cannot be made or written. */
  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await access(this.#folder, constants.W_OK);
  }

  /** Adds whole records to a file; rejects with the system's error. */
  async append(records: Uint8Array, limits: FileLimits): Promise<void> {
    const isFull = this.#bytes > 0 && this.#bytes + records.length > limits.maxBytes;
    const file = (isFull ? undefined : await this.#reopen()) ?? (await this.#begin());
    try {
      await this.#write(file, records);
    } finally {
      await file.close();
    }
    if (this.#bytes === records.length) await this.#removeOld(limits.files);
  }

  async #write(file: FileHandle, records: Uint8Array): Promise<void> {
    const { size } = await file.stat();
    try {
      let written = 0;
      // A disk that is nearly full takes a part.
      while (written < records.length) written += (await file.write(records, written)).bytesWritten;
      this.#bytes = size + written;
    } catch (reason) {
      await file.truncate(size).catch(() => {
        // Records after a part of one could not be read.
        this.#path = undefined;
      });
      throw reason;
    }
  }

  /** Undefined if there is none, or it was moved. */
  async #reopen(): Promise<FileHandle | undefined> {
    if (this.#path === undefined) return undefined;
    return open(this.#path, O_WRONLY | O_APPEND).catch((reason: NodeJS.ErrnoException) => {
      if (reason.code === "ENOENT") return undefined;
      throw reason;
    });
  }

  async #begin(): Promise<FileHandle> {
    await mkdir(this.#folder, { recursive: true });
    for (;;) {
      const stamp = new Date().toISOString().replaceAll(/[-:]/g, "");
      const path = join(this.#folder, `${this.#start}${stamp}${ENDING}`);
      try {
        const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, MODE);
        this.#path = path;
        this.#bytes = 0;
        return file;
      } catch (reason) {
        if (systemCode(reason) !== "EEXIST") throw reason;
        // Another one began in the same millisecond.
        await wait(1);
      }
    }
  }

  /** Sorted by their names, which begin with their times. */
  async #removeOld(kept: number): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => this.#isOwn(name)).toSorted();
    await Promise.all(names.slice(0, -kept).map((name) => rm(join(this.#folder, name), { force: true })));
  }

  #isOwn(name: string): boolean {
    if (!name.startsWith(this.#start) || !name.endsWith(ENDING)) return false;
    return STAMP.test(name.slice(this.#start.length, -ENDING.length));
  }
}

/** Reasons of the system why a file cannot be written, with what to do. */
const PROBLEMS: Readonly<Record<string, (setting: string) => string>> = {
  ENOSPC: (setting) => `the disk is full. Free space${fewerFiles(setting)}.`,
  EDQUOT: (setting) => `the user's quota of the disk is used up. Free space${fewerFiles(setting)}.`,
  EACCES: (setting) => `its folder may not be written (permission denied). Change that, or choose another ${setting}.`,
  EPERM: (setting) => `its folder may not be written (not permitted). Change that, or choose another ${setting}.`,
  EROFS: (setting) => `its disk is read-only. Choose another ${setting}.`,
  ENOTDIR: (setting) => `a part of its path is not a folder. Choose another ${setting}.`,
  EEXIST: (setting) => `a part of its path is not a folder. Choose another ${setting}.`,
  ENAMETOOLONG: (setting) => `its name is too long. Choose a shorter ${setting}.`,
};
const REQUEST_LOG = "--request-log";

/** The reason why a request log cannot be written, as a sentence with its path. */
export function writeProblem(path: string, reason: unknown): string {
  return `${systemProblem(path, reason, REQUEST_LOG)} It is tried again every 10 seconds.`;
}

/** The reason why a file of a setting cannot be written, as a sentence with its path. */
export function systemProblem(path: string, reason: unknown, setting: string): string {
  const code = systemCode(reason) || "unknown error";
  const problem = PROBLEMS[code]?.(setting) ?? `of the system's error ${code}.`;
  return `${path} cannot be written: ${problem}`;
}

function fewerFiles(setting: string): string {
  return setting === REQUEST_LOG ? ", or keep fewer files (--request-log-files)" : "";
}
