import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failedPrecondition, reasonText } from "../errors.ts";
import { removeAbandonedFolders, showLife } from "./abandoned-folders.ts";

/** A temporary file of this process in its own folder, or such a folder. */
export interface ScratchFile {
  readonly path: string;
  remove(): void;
}

/** Each with what shows that this process lives. */
const folders = new Map<string, Server | undefined>();
let hasCleaned = false;

/**
 * Writes a file that is removed when the process exits, at the latest, or by a later process where this one is killed.
 * Writing and registering are one step, so that a signal leaves no unregistered file.
 * Throws `failed_precondition` where the place for temporary files cannot be written.
 */
export function createScratchFile(name: string, content: Uint8Array): ScratchFile {
  return inScratchFolder((folder) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  });
}

/** Creates an empty private folder that is removed as a {@link createScratchFile} is. */
export function createScratchFolder(): ScratchFile {
  return inScratchFolder((folder) => folder);
}

function inScratchFolder(fill: (folder: string) => string): ScratchFile {
  try {
    const folder = createFolder();
    return { path: fill(folder), remove: () => removeFolder(folder) };
  } catch (cause) {
    const variable = process.platform === "win32" ? "TEMP" : "TMPDIR";
    throw failedPrecondition(
      `${tmpdir()}, the folder for temporary files, cannot be written: ${reasonText(cause)}. Set the environment variable ${variable} to a folder that can be.`,
      cause,
    );
  }
}

/** Removes all of them: for callers that end the process without its exit handlers. */
export function removeScratchFiles(): void {
  for (const folder of folders.keys()) removeFolder(folder);
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `kserving-${process.pid}-`));
  if (folders.size === 0) process.on("exit", removeScratchFiles);
  folders.set(folder, showLife(folder));
  if (!hasCleaned) removeAbandonedFolders(tmpdir()).catch(() => {});
  hasCleaned = true;
  return folder;
}

function removeFolder(folder: string): void {
  folders.get(folder)?.close();
  folders.delete(folder);
  if (folders.size === 0) process.off("exit", removeScratchFiles);
  rmSync(folder, { recursive: true, force: true });
}
