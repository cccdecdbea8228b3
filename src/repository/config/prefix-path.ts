import { sep } from "node:path";

/** A path made by `toPath` that keeps its final slash: `logs/` is a folder, `logs/a` the prefix of file names. */
export function prefixPath(prefix: string, toPath: (path: string) => string): string {
  const path = toPath(prefix);
  return /[/\\]$/.test(prefix) && !path.endsWith(sep) ? `${path}${sep}` : path;
}
