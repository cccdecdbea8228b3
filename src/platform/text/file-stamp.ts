import type { Stats } from "node:fs";

/**
 * Text that differs once a file has changed, also by a copy that keeps times: no program sets the time of the change
 * itself. Numbers of files do not count: mounts of object stores may give a file another one at any time.
 */
export function fileStamp({ size, mtimeMs, ctimeMs }: Stats): string {
  return `${size} ${mtimeMs} ${ctimeMs}`;
}
