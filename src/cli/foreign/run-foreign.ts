import type { ServedVersion } from "../../server/served-version.ts";
import type { ForeignCommandName } from "../command-names.ts";
import { importServe } from "../commands/import-serve.ts";
import type { Environment } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import type { ForeignCommandLine, ForeignProgram } from "./foreign-program.ts";

type ProgramName = ForeignCommandName | "sagemaker";

/** The programs of other servers, each imported when it runs. */
const PROGRAMS: Readonly<Record<ProgramName, () => Promise<ForeignProgram>>> = {
  "tensorflow-model-server": async () => (await import("./tensorflow-model-server.ts")).TENSORFLOW_MODEL_SERVER,
  ovms: async () => (await import("./ovms.ts")).OVMS,
  ie_serving: async () => (await import("./ie-serving.ts")).IE_SERVING,
  "simple-tensorflow-serving": async () => (await import("./simple-tensorflow-serving.ts")).SIMPLE_TENSORFLOW_SERVING,
  kserve: async () => (await import("./kserve.ts")).KSERVE,
  sagemaker: async () => (await import("./sagemaker.ts")).SAGEMAKER,
};

/**
 * Runs another server's command line to its end as `kserving serve` runs ours;
 * resolves with that server's exit code and never rejects.
 */
export async function runForeign(name: ProgramName, argv: readonly string[], env: Environment): Promise<number> {
  const program = await PROGRAMS[name]();
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
