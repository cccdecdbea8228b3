import type { ConfigFile } from "../../repository/config/read-config-file.ts";
import type { Environment } from "./environment.ts";
import { type ParsedCommandLine, parseSettings } from "./parse-settings.ts";
import { FILE_SETTINGS, type FileSettings, readFileSettings } from "./read-file-settings.ts";
import { flagOf } from "./settings.ts";

/** The command line of `kserving serve` with what its configuration files say. */
export interface ServeCommandLine extends ParsedCommandLine<"serve"> {
  /** Files of `--config`, in their order. */
  readonly configs: readonly ConfigFile[];
}

/** Reads the arguments of `kserving serve`, and the settings of the configuration files that they name; of several files the last one counts. Throws as {@link parseSettings} does, and what is wrong with a file. */
export async function readServeSettings(argv: readonly string[], env: Environment): Promise<ServeCommandLine> {
  const parsed = parseSettings("serve", argv, { env });
  if (parsed.settings.config.length === 0) return { ...withControl(parsed), configs: [] };
  // Not needed for help, which should not wait for it.
  const { readConfigFile } = await import("../../repository/config/read-config-file.ts");
  const configs: ConfigFile[] = [];
  for (const path of parsed.settings.config) configs.push(await readConfigFile(path, [...FILE_SETTINGS.keys()]));
  const files: FileSettings = new Map(configs.flatMap(({ settings }) => [...readFileSettings(settings)]));
  return { ...withControl(parseSettings("serve", argv, { env, files })), configs };
}

/** Models that load only when a client asks for them need a client that may: programs on this machine, unless something else is said. */
function withControl(parsed: ParsedCommandLine<"serve">): ParsedCommandLine<"serve"> {
  const { settings, origins } = parsed;
  if (settings.modelControl !== "explicit" || origins.has("allowControl")) return parsed;
  const origin = `${flagOf("modelControl")} explicit`;
  return {
    ...parsed,
    settings: { ...settings, allowControl: "local" },
    origins: new Map([...origins, ["allowControl", origin]]),
  };
}
