import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** Folder of programs that are installed for this check alone. */
const CACHE = join(process.cwd(), ".cache");
const run = promisify(execFile);

/** An installed program. */
export interface Program {
  readonly program: string;
  readonly version: string;
}

/** The newest version of a program, built once. */
export async function goProgram(name: string, module: string): Promise<Program> {
  const program = join(CACHE, "go", name);
  const env = { ...process.env, GOBIN: join(CACHE, "go") };
  if (!existsSync(program)) await run("go", ["install", `${module}@latest`], { env });
  const { stdout } = await run("go", ["version", "-m", program]);
  return { program, version: /^\tmod\t\S+\t(\S+)/m.exec(stdout)?.[1] ?? "?" };
}

/** The newest version of a program, installed once into a folder of its own. */
export async function npmProgram(name: string, command: string): Promise<Program> {
  const folder = join(CACHE, name);
  const installed = join(folder, "node_modules");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(installed)) await run("npm", ["install", "--no-audit", "--no-fund", "--prefix", folder, name]);
  const { version } = JSON.parse(readFileSync(join(installed, name, "package.json"), "utf8"));
  return { program: join(installed, ".bin", command), version };
}
