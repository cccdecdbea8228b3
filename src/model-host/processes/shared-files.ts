import { closeSync, constants, existsSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Bytes of each file; memory is taken as it is written. What does not fit goes another way. */
export const RING_BYTES = 32 * 1024 * 1024;

const MEMORY_FOLDER = "/dev/shm";
let count = 0;

/** Files in memory that two processes share: one for each direction. */
export interface SharedFiles {
  /** Descriptors, that of what goes to the child first. */
  readonly fds: readonly [toChild: number, fromChild: number];
  close(): void;
}

/**
 * Creates the files, which have no name from the beginning: the system frees them with the last process that holds them. Undefined
 * where the system has no memory file system: then everything goes through the socket.
 */
export function createSharedFiles(): SharedFiles | undefined {
  if (!existsSync(MEMORY_FOLDER)) return undefined;
  const fds: number[] = [];
  const close = () => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  try {
    while (fds.length < 2) fds.push(createUnnamed());
    return { fds: fds as [number, number] as readonly [number, number], close };
  } catch {
    close();
    return undefined;
  }
}

function createUnnamed(): number {
  const path = join(MEMORY_FOLDER, `kserving-${process.pid}-${Date.now().toString(36)}-${count++}`);
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  rmSync(path);
  return fd;
}
