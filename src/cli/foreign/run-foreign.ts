import type { ServedVersion } from "../../server/served-version.ts";
import { importServe } from "../commands/import-serve.ts";
import type { Environment } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";

/**
 * Runs another server's command line to its end as `kserving serve` runs ours;
 * resolves with that server's exit code and never rejects.
 */
export async function runForeign(program: ForeignProgram, argv: readonly string[], env: Environment): Promise<number> {
  const failed = new Map<string, ServedVersion>();
  let commandLine: ForeignCommandLine | undefined;
  try {
    const read = await program.read(argv, env);
    if (typeof read === "number") return read;
    commandLine = read;
    const own = await readServeSettings([], env, commandLine);
    const models = [...commandLine.models, ...own.configs.flatMap((config) => config.models)];
    await program.waitForModels?.(models, own.settings);
    const { serve } = await importServe(own);
    return await serve(own, env, withFailures(program.createReporter(own.settings), failed));
  } catch (reason) {
    return program.fail(reason, { commandLine, failed: [...failed.values()] });
  }
}

/** Collects the versions that do not load. */
function withFailures(reporter: Partial<StatusReporter>, failed: Map<string, ServedVersion>): Partial<StatusReporter> {
  const changed = (version: ServedVersion) => {
    if (version.error !== undefined) failed.set(`${version.name}/${version.version}`, version);
    reporter.changed?.(version);
  };
  return { ...reporter, changed };
}
