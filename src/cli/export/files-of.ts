import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, parse, resolve } from "node:path";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { compileUserModule } from "../../user-module/user-module.ts";
import { filesOfPythonFile } from "./python-files.ts";

/**
 * The files of a model: its folder, with a slash behind it, or its file and those next
 * to it whose names begin alike, such as weights.
 */
export async function filesOfModel(path = ""): Promise<readonly string[]> {
  if (path === "" || isRemoteAddress(path)) return [];
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return [path.endsWith("/") ? path : `${path}/`];
  const { dir, name } = parse(path);
  const beside = await readdir(dirname(path)).catch(() => [basename(path)]);
  return beside
    .filter((each) => parse(each).name === name || each.startsWith(`${name}.`))
    .map((each) => join(dir, each));
}

/** A file of hooks or of a driver, then the local files that it imports. Throws as its compilation does. */
export async function filesOfModule(path: string | undefined): Promise<readonly string[]> {
  if (path === undefined) return [];
  if (extname(path) === ".py") return filesOfPythonFile(path);
  const compiled = await compileUserModule(path);
  await compiled.dispose();
  const own = compiled.sources.filter((source) => !source.includes("node_modules"));
  const itself = [resolve(path), await realpath(path)];
  return [path, ...own.filter((source) => !itself.includes(resolve(source)))];
}
