import { closeSync, fstatSync, openSync, statSync, writeSync } from "node:fs";
import { failedPrecondition, reasonText } from "../errors.ts";
import type { LogOutput } from "./log-output.ts";
import { reportLogLoss } from "./log-output.ts";

/** A log file that is open. */
export interface LogFile extends LogOutput {
  /**
   * Opens the path again, as log rotation asks by a signal; throws if that is
   * impossible, and goes on with the file that is open.
   */
  reopen(): void;
  /** Checks that an open file descriptor of the process leads to the same file, pipe or device. */
  isSameAs(descriptor: number): boolean;
}

/**
 * Time for which lines go to a file that was renamed while nothing is at its path, in milliseconds: who rotates logs is
 * about to create it, or to send a signal.
 */
const RENAME_GRACE_MS = 1000;

/**
 * Opens a file to append to. It writes before it returns, so that the last lines of a process that kills itself are in
 * the file. A file that was replaced, deleted or renamed, as log rotation does, is opened again under its path, after a
 * rename when a moment has passed. Lines that cannot be written are lost, and the first such loss is reported. Throws
 * `failed_precondition` for a file that cannot be opened.
 */
export function openLogFile(path: string, renameGraceMs = RENAME_GRACE_MS): LogFile {
  const file = new AppendedFile(path, renameGraceMs);
  let isReported = false;
  return {
    reopen: () => file.reopen(),
    isSameAs: (descriptor) => file.isSameAs(descriptor),
    write: (line) => {
      try {
        file.append(Buffer.from(line));
      } catch (reason) {
        if (!isReported) reportLogLoss(`to ${path}`, reason);
        isReported = true;
      }
    },
  };
}

class AppendedFile {
  readonly #path: string;
  readonly #renameGraceMs: number;
  #descriptor: number;
  #identity: FileIdentity;
  /** Time at which nothing was found at the path; undefined = something is there. */
  #missingSince: number | undefined;

  constructor(path: string, renameGraceMs: number) {
    this.#path = path;
    this.#renameGraceMs = renameGraceMs;
    this.#descriptor = openToAppend(path);
    this.#identity = fstatSync(this.#descriptor);
  }

  append(bytes: Buffer): void {
    if (this.#isToReopen()) this.#reopenIfPossible();
    let written = 0;
    // A disk that is nearly full takes a part of a line.
    while (written < bytes.length) written += writeSync(this.#descriptor, bytes, written);
  }

  isSameAs(descriptor: number): boolean {
    return isSameFile(this.#identity, fstatSync(descriptor));
  }

  /** With the permissions that the file had. */
  reopen(): void {
    const old = this.#descriptor;
    this.#descriptor = openSync(this.#path, "a", fstatSync(old).mode & 0o777);
    this.#identity = fstatSync(this.#descriptor);
    this.#missingSince = undefined;
    closeSync(old);
  }

  /** The file that is open takes lines as long as its name is its own. */
  #reopenIfPossible(): void {
    try {
      this.reopen();
    } catch (reason) {
      if (!this.#isRenamed()) throw reason;
    }
  }

  #isToReopen(): boolean {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found !== undefined) {
      this.#missingSince = undefined;
      return !isSameFile(found, this.#identity);
    }
    this.#missingSince ??= performance.now();
    return !this.#isRenamed() || performance.now() - this.#missingSince >= this.#renameGraceMs;
  }

  /** False for a file that was deleted. */
  #isRenamed(): boolean {
    return fstatSync(this.#descriptor).nlink > 0;
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
