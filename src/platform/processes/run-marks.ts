import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Bytes of a row: one cell that counts runs, the deaths, the length of the name, the key, and the name. */
const ROW = { bytes: 256, deaths: 4, nameLength: 8, key: 12, name: 32 } as const;
/** Rows of a file; the first one is about the process. Pages that are never written take no memory. */
const ROWS = 8192;
/** Size of a file, in bytes. */
export const MARKS_BYTES = ROWS * ROW.bytes;
/** Folders for the file: memory first, since the system writes what lies on a disk again and again. */
const FOLDERS = ["/dev/shm", tmpdir()];
const OPEN_FLAGS = constants.O_RDWR | constants.O_CREAT;
const OWNER_ALONE = 0o600;

/** State of the process that writes the marks, as it says itself; a native library that ends it says nothing. */
export const STATE = { starting: 0, serving: 1, ending: 2, failed: 3 } as const;
/** One of {@link STATE}. */
export type ProcessState = (typeof STATE)[keyof typeof STATE];

/** A model as its row has it. */
export interface MarkedModel {
  /** 20 bytes in hexadecimal digits, by which it is known again. */
  readonly key: string;
  /** The name by which clients know it, cut at 224 bytes. */
  readonly name: string;
  /** Deaths of the process while it ran. */
  readonly deaths: number;
}

/**
 * A file that says which models run at the moment, and outlives the process that writes it: a thread adds one to its
 * model's cell before a run and takes one off after it, in memory that is mapped ({@link cellOf}).
 */
export class RunMarks {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  /**
   * Opens the file at a path, with what an earlier server has left in it: a death that it did not live to see counts
   * now. Without a path the file has no name, and ends with those that have it open. Throws the system's error if
   * that is not possible.
   */
  static open(path?: string): RunMarks {
    const marks = new RunMarks(path === undefined ? openNameless() : openSync(path, OPEN_FLAGS, OWNER_ALONE));
    ftruncateSync(marks.fd, MARKS_BYTES);
    marks.blame({ isDeath: marks.state === STATE.serving || marks.state === STATE.starting });
    return marks;
  }

  /** The state that the process has said. */
  get state(): ProcessState {
    return this.#readRow(0).readUInt32LE(0) as ProcessState;
  }

  set state(state: ProcessState) {
    const cell = Buffer.alloc(4);
    cell.writeUInt32LE(state);
    writeSync(this.fd, cell, 0, cell.length, 0);
  }

  /** Models that ran when a process died, this time or before, by their rows. */
  died(): Map<number, MarkedModel> {
    const rows = this.#usedRows().filter(([, row]) => row.readUInt32LE(ROW.deaths) > 0);
    return new Map(rows.map(([index, row]) => [index, toModel(row)]));
  }

  /**
   * Counts a death for each model that was running, and returns these; forgets models that no death was ever counted
   * for. Without `isDeath`, all runs count as ended.
   */
  blame({ isDeath = true } = {}): MarkedModel[] {
    const rows = this.#usedRows();
    const blamed = rows.filter(([, row]) => isDeath && row.readUInt32LE(0) > 0);
    for (const [, row] of blamed) row.writeUInt32LE(row.readUInt32LE(ROW.deaths) + 1, ROW.deaths);
    for (const [index, row] of rows) {
      if (row.readUInt32LE(ROW.deaths) === 0) row.fill(0);
      row.writeUInt32LE(0, 0);
      this.#writeRow(index, row);
    }
    return blamed.map(([, row]) => toModel(row));
  }

  /** Gives a row to a model; false if the file has no such row. */
  take(index: number, { key, name, deaths }: MarkedModel): boolean {
    if (index >= ROWS) return false;
    const row = Buffer.alloc(ROW.bytes);
    const text = Buffer.from(name).subarray(0, ROW.bytes - ROW.name);
    row.writeUInt32LE(deaths, ROW.deaths);
    row.writeUInt32LE(text.length, ROW.nameLength);
    row.set(Buffer.from(key, "hex"), ROW.key);
    row.set(text, ROW.name);
    this.#writeRow(index, row);
    return true;
  }

  close(): void {
    closeSync(this.fd);
  }

  #usedRows(): [index: number, row: Buffer][] {
    const all = Buffer.alloc(Math.min(fstatSync(this.fd).size, MARKS_BYTES));
    readSync(this.fd, all, 0, all.length, 0);
    const rows: [number, Buffer][] = [];
    for (let index = 1; (index + 1) * ROW.bytes <= all.length; index++) {
      const row = all.subarray(index * ROW.bytes, (index + 1) * ROW.bytes);
      if (row.readUInt32LE(ROW.nameLength) > 0) rows.push([index, row]);
    }
    return rows;
  }

  #readRow(index: number): Buffer {
    const row = Buffer.alloc(ROW.bytes);
    readSync(this.fd, row, 0, row.length, index * ROW.bytes);
    return row;
  }

  #writeRow(index: number, row: Buffer): void {
    writeSync(this.fd, row, 0, row.length, index * ROW.bytes);
  }
}

/** The place of a row's cell among the file's 32-bit numbers. */
export function cellOf(row: number): number {
  return (row * ROW.bytes) / Int32Array.BYTES_PER_ELEMENT;
}

function toModel(row: Buffer): MarkedModel {
  const length = Math.min(row.readUInt32LE(ROW.nameLength), ROW.bytes - ROW.name);
  return {
    key: row.toString("hex", ROW.key, ROW.name),
    name: row.toString("utf8", ROW.name, ROW.name + length),
    deaths: row.readUInt32LE(ROW.deaths),
  };
}

function openNameless(): number {
  let failure: unknown;
  for (const folder of FOLDERS) {
    const path = join(folder, `kserving-marks-${process.pid}-${Math.random().toString(36).slice(2)}`);
    try {
      const fd = openSync(path, OPEN_FLAGS | constants.O_EXCL, OWNER_ALONE);
      unlinkSync(path);
      return fd;
    } catch (reason) {
      failure = reason;
    }
  }
  throw failure;
}
