import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** `import a.b as c, d` and `from a.b import c`, at any depth of the code. */
const IMPORTS = /^[ \t]*(?:import[ \t]+(?<list>[^#\n]+)|from[ \t]+(?<from>\w+)[\w.]*[ \t]+import\b)/gm;

/**
 * A Python file, then the files of its folder that it and those import, packages with all their files, and the list of
 * the packages that it needs from elsewhere.
 */
export async function filesOfPythonFile(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const found = new Set([path]);
  // A set's loop reaches what is added on the way.
  for (const file of found)
    if (file.endsWith(".py"))
      for (const name of await importsOf(file)) for (const own of await filesOfName(join(folder, name))) found.add(own);
  const requirements = join(folder, "requirements.txt");
  return (await isFile(requirements)) ? [...found, requirements] : [...found];
}

async function importsOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return [...text.matchAll(IMPORTS)].flatMap(({ groups = {} }) =>
    (groups.from ?? groups.list ?? "").split(",").flatMap((each) => /^\s*(\w+)/.exec(each)?.[1] ?? []),
  );
}

/** A module's file, or a package's files: a folder without Python is none. */
async function filesOfName(path: string): Promise<readonly string[]> {
  if (await isFile(`${path}.py`)) return [`${path}.py`];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  if (!entries.some(({ name }) => name.endsWith(".py"))) return [];
  return entries
    .filter(
      (entry) => entry.isFile() && !/(?:^|\/)(?:__pycache__|\.[^/]+)(?:\/|$)/.test(entry.parentPath.slice(path.length)),
    )
    .map(({ parentPath, name }) => join(parentPath, name));
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}
