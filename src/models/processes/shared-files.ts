import { closeSync } from "node:fs";
import type { MappedFile } from "../../platform/native/mapped-file.ts";

/** Bytes of each file; memory is taken as it is written. What does not fit goes another way. */
const FILE_BYTES = 32 * 1024 * 1024;

/** Files in memory that two processes share, one for each direction, as one of the processes sees them. */
export interface SharedFiles {
  readonly out: MappedFile;
  readonly in: MappedFile;
}

/** The files as the process that created them has them. */
export interface OwnSharedFiles extends SharedFiles {
  /** Descriptors, that of what goes to the child first. */
  readonly fds: readonly [toChild: number, fromChild: number];
  close(): void;
}

/**
 * Creates the files: the system frees them with the last process that holds them, and no process can change their size.
 * Undefined if the system has none: then everything goes through the socket.
 */
export async function createSharedFiles(bytes = FILE_BYTES): Promise<OwnSharedFiles | undefined> {
  const fds: number[] = [];
  const closeFds = () => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  try {
    const { createMemoryFile } = await import("../../platform/native/mapped-file.ts");
    while (fds.length < 2) fds.push(createMemoryFile("kserving", bytes));
    const [toChild, fromChild] = fds as [number, number];
    const mapped = await mapFiles({ in: fromChild, out: toChild }, bytes);
    const close = () => {
      mapped.in.close();
      mapped.out.close();
      closeFds();
    };
    return { ...mapped, fds: [toChild, fromChild], close };
  } catch {
    closeFds();
    return undefined;
  }
}

/** The files that a child has inherited, by their descriptors; undefined without these. */
export async function inheritSharedFiles(
  [fromServer, toServer]: readonly number[],
  bytes = FILE_BYTES,
): Promise<SharedFiles | undefined> {
  if (fromServer === undefined || toServer === undefined) return undefined;
  return mapFiles({ in: fromServer, out: toServer }, bytes);
}

async function mapFiles(fds: Readonly<Record<keyof SharedFiles, number>>, bytes: number): Promise<SharedFiles> {
  const { MappedFile } = await import("../../platform/native/mapped-file.ts");
  const out = new MappedFile(fds.out, bytes, "write");
  return { out, in: new MappedFile(fds.in, bytes, "read") };
}
