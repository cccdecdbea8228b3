import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { HookThreadChoices } from "./hook-generation.ts";

/** The `-o` keys that say how TypeScript hooks are prepared. */
export const PACKAGE_OPTIONS = ["requirements"] as const;

const COMMAND = ["install", "--no-save", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"];
/** Of npm's first lines, that are told. */
const MOST_LINES = 3;

/**
 * Installs what the `package.json` beside a TypeScript hook file asks for into `node_modules` there, if the option
 * `requirements` is true. Throws `failed_precondition` with npm's reason.
 */
export async function installPackages(
  { file, options }: Pick<HookThreadChoices, "file" | "options">,
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  const { requirements = "false" } = options ?? {};
  if (requirements === "false") return;
  if (requirements !== "true")
    throw invalidArgument(`The option requirements is "${requirements}"; expected true or false for ${file}.`);
  const folder = dirname(file);
  if (!existsSync(join(folder, "package.json"))) {
    log.info(`${file} has no package.json beside it: nothing is installed`);
    return;
  }
  log.info(`installing the packages of ${join(folder, "package.json")}`);
  const isWindows = process.platform === "win32";
  await promisify(execFile)("npm", COMMAND, { cwd: folder, shell: isWindows, signal }).catch((reason) => {
    throw failedPrecondition(`${file}: its packages cannot be installed by npm: ${reasonOf(reason)}`, reason);
  });
}

function reasonOf({ stderr = "", message }: { readonly stderr?: string; readonly message: string }): string {
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim());
  return (
    lines
      .filter((line) => line !== "")
      .slice(0, MOST_LINES)
      .join(" / ") || message
  );
}
