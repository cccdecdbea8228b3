import type { Environment } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";

/** Runs another server's command line to its end as `kserving serve` runs ours; resolves with that server's exit code and never rejects. */
export async function runForeign(program: ForeignProgram, argv: readonly string[], env: Environment): Promise<number> {
  let commandLine: ForeignCommandLine | undefined;
  try {
    const read = await program.read(argv, env);
    if (typeof read === "number") return read;
    commandLine = read;
    const own = await readServeSettings([], env, commandLine);
    const models = [...commandLine.models, ...own.configs.flatMap((config) => config.models)];
    await program.waitForModels?.(models, own.settings);
    const { serve } = await import("../commands/serve-command.ts");
    await serve(own, env, program.createAnnouncer(own.settings));
    return 0;
  } catch (reason) {
    return program.fail(reason, commandLine);
  }
}
