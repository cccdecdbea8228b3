import { isAbsolute, join, sep } from "node:path";

/** The path of a file that a configuration names in a folder; undefined for a name that leads out of it. */
export function pathInside(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  const isInside = !isAbsolute(name) && path.startsWith(`${folder}${sep}`) && !name.includes("\0");
  return isInside ? path : undefined;
}
