import { closeSync, openSync, readSync } from "node:fs";

/** Number of bytes that suffice to recognise a kind of file. */
const HEAD_BYTES = 512;

/**
 * The first bytes of a file, one character each; empty for a folder, and for what
 * cannot be read: a driver then says why.
 */
export function readHead(path: string, length = HEAD_BYTES): string {
  try {
    const file = openSync(path, "r");
    try {
      const head = Buffer.alloc(length);
      return head.toString("latin1", 0, readSync(file, head, 0, length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
