import { measureCycles } from "./cycles.ts";
import { measureManyModels } from "./many-models.ts";
import { measureRenames } from "./renames.ts";
import { measureSwitches } from "./switches.ts";

/** The parts of the benchmark, by what they are about. */
const PARTS: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  switch: measureSwitches,
  rename: measureRenames,
  models: measureManyModels,
  cycles: measureCycles,
};

/**
 * Prints the costs of changing models: requests while versions are replaced, renames while folders are polled, many
 * models, and memory and threads after many loads.
 */
export async function runReload(args: readonly string[]): Promise<void> {
  const at = args.indexOf("--only");
  const only = at < 0 ? "" : (args[at + 1] ?? "");
  for (const [name, run] of Object.entries(PARTS)) if (name.includes(only)) await run(args);
}
