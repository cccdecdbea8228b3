import { onTestFinished, vi } from "vitest";
import { toModelSources } from "../../../src/cli/commands/model-sources.ts";
import type { ForeignProgram } from "../../../src/cli/foreign/foreign-program.ts";
import { readServeSettings } from "../../../src/cli/settings/read-serve-settings.ts";
import type { Settings } from "../../../src/cli/settings/settings.ts";
import type { ModelSources } from "../../../src/serving/repository/config-sources.ts";

/** Text that a program printed. */
export interface Printed {
  stdout: string;
  stderr: string;
}

/** Collects what is printed until the test ends. */
export function collectOutput(): Printed {
  const printed: Printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const spy = vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
    onTestFinished(() => spy.mockRestore());
  }
  return printed;
}

/** A command line as it would be served. */
export interface Understood {
  readonly settings: Settings<"serve">;
  readonly sources: ModelSources;
  readonly warnings: readonly string[];
}

/** Reads a foreign command line up to where the server would start; an exit code where it ends before. */
export async function understand(
  program: ForeignProgram,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Understood | number> {
  const commandLine = await program.read(argv, env);
  if (typeof commandLine === "number") return commandLine;
  const own = await readServeSettings([], env, commandLine);
  return { settings: own.settings, sources: toModelSources(own) as ModelSources, warnings: commandLine.warnings };
}
