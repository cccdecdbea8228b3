import { sep } from "node:path";

/** A path made by `toPath` that is a folder still where it was written as one: `logs/` begins the names of files in that folder. */
export function prefixPath(prefix: string, toPath: (path: string) => string): string {
  const path = toPath(prefix);
  return /[/\\]$/.test(prefix) && !path.endsWith(sep) ? `${path}${sep}` : path;
}
