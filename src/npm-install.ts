import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

/**
 * The command that installs packages where kserving finds them, wherever the user stands: globally where it is itself
 * installed so, else beside it, which for `npx` is npm's own folder. `root` is kserving's own folder.
 */
export function npmInstall(packages: string, root = ROOT, from = process.cwd()): string {
  const parent = dirname(root);
  const isPackage = basename(parent) === "node_modules";
  const project = isPackage ? dirname(parent) : root;
  if (isPackage && !existsSync(join(project, "package.json"))) return installGlobally(packages, project);
  return project === from ? `npm install ${packages}` : `npm install --prefix ${quoted(project)} ${packages}`;
}

/** npm's own prefix is where Node is, unless it was told another. */
function installGlobally(packages: string, folder: string): string {
  const prefix = basename(folder) === "lib" ? dirname(folder) : folder;
  const isUsual = prefix === dirname(dirname(process.execPath)) || prefix === dirname(process.execPath);
  return `npm install -g ${isUsual ? "" : `--prefix ${quoted(prefix)} `}${packages}`;
}

function quoted(path: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
