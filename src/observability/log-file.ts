import { closeSync, fstatSync, openSync, statSync, writeSync } from "node:fs";
import { failedPrecondition, reasonText } from "../errors.ts";
import type { LogOutput } from "./log-output.ts";
import { tellLogLoss } from "./output-errors.ts";

/** A log file that is open. */
export interface LogFile extends LogOutput {
  /** Checks that an open file descriptor of the process leads to the same file, pipe or device. */
  isSameAs(descriptor: number): boolean;
}

/**
 * Opens a file to append to. It writes before it returns, so that the last lines of a process that kills itself are in the file. A file that was
 * renamed or deleted, as log rotation does, is created again. Lines that cannot be written are lost, and the first such loss is reported.
 * Throws `failed_precondition` for a file that cannot be opened.
 */
export function openLogFile(path: string): LogFile {
  const file = new AppendedFile(path);
  let isTold = false;
  return {
    isSameAs: (descriptor) => file.isSameAs(descriptor),
    write: (line) => {
      try {
        file.append(Buffer.from(line));
      } catch (reason) {
        if (!isTold) tellLogLoss(`to ${path}`, reason);
        isTold = true;
      }
    },
  };
}

class AppendedFile {
  readonly #path: string;
  #descriptor: number;
  #identity: FileIdentity;

  constructor(path: string) {
    this.#path = path;
    this.#descriptor = openToAppend(path);
    this.#identity = fstatSync(this.#descriptor);
  }

  append(bytes: Buffer): void {
    if (!this.#isAtPath()) this.#reopen();
    let written = 0;
    // A disk that is nearly full takes a part of a line.
    while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written);
  }

  isSameAs(descriptor: number): boolean {
    return isSameFile(this.#identity, fstatSync(descriptor));
  }

  #isAtPath(): boolean {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    return found !== undefined && isSameFile(found, this.#identity);
  }

  #reopen(): void {
    const old = this.#descriptor;
    this.#descriptor = openSync(this.#path, "a");
    this.#identity = fstatSync(this.#descriptor);
    closeSync(old);
  }
}

function openToAppend(path: string): number {
  try {
    return openSync(path, "a");
  } catch (cause) {
    const message = `The log file ${path} cannot be written: ${reasonText(cause)}. Choose another with --log-path.`;
    throw failedPrecondition(message, cause);
  }
}

interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

function isSameFile(one: FileIdentity, other: FileIdentity): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
