import { closeSync, openSync, readdirSync, readSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../errors.ts";

/** A record that lies in its folder for as long as its request runs, and longer if the process ends meanwhile. */
export interface UnderWayFile {
  readonly path: string;
  /** The model's name as a part of file names. */
  readonly model: string;
  /** Arrival, in milliseconds since 1970. */
  readonly timeMs: number;
}

/** Process, its start, the request's number, and the model. */
const NAME = /^\.under-way-(\d+)-(\d+)-(\d+)-(.+)$/;
/** Two processes of one number were started at different times. */
const STARTED_MS = Math.floor(performance.timeOrigin);
/** Characters of a model's name: file names have 255 bytes. */
const MAX_NAME = 150;
const OPTIONS = { mode: 0o600, flag: "wx" } as const;
/** Bytes above which the main thread does not wait for the disk. */
const LARGE_BYTES = 1024 * 1024;

const open = new Set<string>();
let lastNumber = 0;

/** A model's name as a part of file names. */
export function fileNameOf(model: string): string {
  return encodeURIComponent(model).slice(0, MAX_NAME);
}

/** Writes a record; rejects with the system's error. A small one is there once this returns. */
export async function writeUnderWay(folder: string, model: string, record: Uint8Array): Promise<UnderWayFile> {
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
export function forget({ path }: Pick<UnderWayFile, "path">): void {
  open.delete(path);
  if (open.size === 0) process.off("exit", removeUnderWay);
}

/** Removes the files of this process: if it ends by its own decision, no request has ended it. */
export function removeUnderWay(): void {
  for (const path of open) removeFile({ path });
}

/** Whole files of processes that have ended, in the order of their requests; parts of files are removed. */
export function leftBehind(folder: string): UnderWayFile[] {
  const found = readdirSync(folder).flatMap((name) => {
    const [, pid, startedMs, number, model] = NAME.exec(name) ?? [];
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
