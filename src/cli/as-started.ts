import { existsSync, realpathSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));
/** Our commands as messages name them. */
const COMMANDS = /(?<![\w./-])kserving (?=runtimes (?:list\b|install [a-z]))/g;

/** A message whose commands are written so that they work where the user stands. */
export function asStarted(text: string, started = startedAs()): string {
  return text.replace(COMMANDS, () => `${started} `);
}

/** The program's name where the shell finds it, `npx kserving` in a project that has it, else Node with its file. */
function startedAs(program = PROGRAM, env = process.env): string {
  const own = resolved(program);
  const isOwn = (folder: string) => resolved(join(folder, "kserving")) === own && own !== undefined;
  // npm and npx put folders into the path that the user's shell does not have.
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => !/node_modules[/\\]\.bin[/\\]?$/.test(folder));
  if (folders.some(isOwn)) return "kserving";
  if (isOwn(join(process.cwd(), "node_modules", ".bin"))) return "npx kserving";
  const near = relative(process.cwd(), program);
  return `node ${near.startsWith("..") ? program : near}`;
}

function resolved(path: string): string | undefined {
  return existsSync(path) ? realpathSync(path) : undefined;
}
