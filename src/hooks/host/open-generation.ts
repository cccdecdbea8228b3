import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "../../observability/logger.ts";
import { compileUserModule } from "../../platform/user-module/user-module.ts";
import { type GenerationServices, HookGeneration, type HookThreadChoices } from "./hook-generation.ts";
import { HookWorker } from "./hook-worker.ts";
import { installPackages } from "./install-packages.ts";
import { copyPythonHooks, isPythonFile } from "./python/copy-python-hooks.ts";

/**
 * Installs the packages of the hook file if that is asked for, compiles it, or
 * copies one in Python, imports it in a first thread, and claims its routes. Throws
 * `failed_precondition` for invalid hooks, `unavailable` when the signal aborts.
 */
export async function openGeneration(
  choices: HookThreadChoices,
  { log, claim }: GenerationServices,
  signal?: AbortSignal,
): Promise<HookGeneration> {
  const { file } = choices;
  const isPython = isPythonFile(file);
  if (!isPython) await installPackages(choices, log, signal);
  const compiled = await (isPython ? copyPythonHooks(file) : compileUserModule(file, true));
  const options = { ...(isPython ? withoutMissingRequirements(choices, log) : choices), url: compiled.url };
  const first = new HookWorker(options, log);
  const stop = () => void first.terminate();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  try {
    const declared = await first.declared;
    const release = claim?.(declared.facts.entries ?? []);
    return new HookGeneration({ compiled, options, log, first, declared, release });
  } catch (reason) {
    await first.terminate();
    await compiled.dispose();
    throw reason;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/**
 * Python hooks with the option `requirements` off if it asks for a
 * `requirements.txt` next to the file and none is there, which is logged.
 */
function withoutMissingRequirements(choices: HookThreadChoices, log: Logger): HookThreadChoices {
  const { file, options } = choices;
  if (options?.requirements !== "true" || existsSync(join(dirname(file), "requirements.txt"))) return choices;
  log.info(`${file} has no requirements.txt next to it: nothing is installed`);
  return { ...choices, options: { ...options, requirements: "false" } };
}
