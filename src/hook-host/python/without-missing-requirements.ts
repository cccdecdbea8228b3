import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "../../observability/logger.ts";
import type { HookThreadChoices } from "../hook-generation.ts";

/**
 * Python hooks with the option `requirements` off where it asks for a
 * `requirements.txt` next to the file and none is there, which is logged.
 */
export function withoutMissingRequirements(choices: HookThreadChoices, log: Logger): HookThreadChoices {
  const { file, options } = choices;
  if (options?.requirements !== "true" || existsSync(join(dirname(file), "requirements.txt"))) return choices;
  log.info(`${file} has no requirements.txt next to it: nothing is installed`);
  return { ...choices, options: { ...options, requirements: "false" } };
}
