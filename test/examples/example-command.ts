import { readFileSync } from "node:fs";
import { toServerOptions } from "../../src/cli/commands/to-server-options.ts";
import { parseSettings } from "../../src/cli/settings/parse-settings.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { onFreePorts } from "../helpers/on-free-ports.ts";

/** Commands that the first comment of an example gives. */
export interface ExampleCommand {
  /** Options of `kserving …` there, on free ports. */
  readonly options: ServerOptions;
  /** The `curl …` lines. */
  readonly requests: readonly string[];
}

/** Reads the first comment of `examples/hooks/NAME.ts`, or of a file with another ending. */
export async function readExample(name: string, ending: "ts" | "py" = "ts"): Promise<ExampleCommand> {
  const source = readFileSync(`examples/hooks/${name}.${ending}`, "utf8");
  const comment = ending === "ts" ? source.split("*/", 1)[0] : source.split('"""', 2)[1];
  const lines = (comment as string).replaceAll(/\\\n( \*)?/g, "").split("\n");
  const commands = lines.map((line) => line.replace(/^(?: \*)?\s*/, "").replaceAll(/\s+/g, " "));
  const serve = commands.find((command) => command.startsWith("kserving "));
  if (serve === undefined) throw new Error(`${name} does not begin with a comment that says how to serve it.`);
  const flags = serve.split(" ").slice(1);
  return {
    options: await toServerOptions(parseSettings("serve", onFreePorts(flags), { env: {} })),
    requests: commands.filter((command) => command.startsWith("curl ")),
  };
}
