import { openSync, writeSync } from "node:fs";
import { reasonText, ServingError } from "../errors.ts";
import { tellLogLoss } from "./output-errors.ts";

/** Somewhere to write lines to. */
export interface LogFile {
  write(line: string): void;
}

/**
 * Opens a file to append to. It writes before it returns, so that the last words of a process that kills itself are in the file; lines that it
 * cannot write are lost, and the first such loss is told. Throws `failed_precondition` for a file that cannot be opened.
 */
export function openLogFile(path: string): LogFile {
  const descriptor = openToAppend(path);
  let isTold = false;
  return {
    write: (line) => {
      try {
        writeWhole(descriptor, Buffer.from(line));
      } catch (reason) {
        if (!isTold) tellLogLoss(`to ${path}`, reason);
        isTold = true;
      }
    },
  };
}

function openToAppend(path: string): number {
  try {
    return openSync(path, "a");
  } catch (cause) {
    const message = `The log file ${path} cannot be written: ${reasonText(cause)}. Choose another with --log-path.`;
    throw new ServingError("failed_precondition", message, { cause });
  }
}

/** A disk that is nearly full takes a part of a line. */
function writeWhole(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}
