import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

/**
 * The command that installs packages where kserving finds them: globally where it is
 * itself installed so. `root` is kserving's own folder.
 */
export function npmInstall(packages: string, root = ROOT): string {
  const parent = dirname(root);
  const isGlobal = basename(parent) === "node_modules" && !existsSync(join(dirname(parent), "package.json"));
  return `npm install ${isGlobal ? "-g " : ""}${packages}`;
}
