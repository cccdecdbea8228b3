import type { ConfigFile } from "../../serving/repository/config/read-config-file.ts";
import type { ForeignCommandLine } from "../foreign/foreign-program.ts";
import { applyWords } from "./apply-words.ts";
import { containerDefaults } from "./container-defaults.ts";
import type { Environment } from "./environment.ts";
import { type ParsedCommandLine, parseSettings } from "./parse-settings.ts";
import { FILE_SETTINGS, type FileSettings, readFileSettings } from "./read-file-settings.ts";
import { flagOf } from "./settings.ts";

/** The command line of `kserving serve` with what its configuration files say. */
export interface ServeCommandLine extends ParsedCommandLine<"serve"> {
  /** Files of `--config`, in their order. */
  readonly configs: readonly ConfigFile[];
  /** Warnings about words that may mean something else. */
  readonly warnings?: readonly string[];
  /** The command line of another server from which it was converted. */
  readonly foreign?: ForeignCommandLine;
}

/**
 * Reads the arguments of `kserving serve`, and the settings of the configuration files that they name; of several files
 * the last one counts. Throws as {@link parseSettings} does, and for faults of a file.
 */
export async function readServeSettings(
  argv: readonly string[],
  env: Environment,
  foreign?: ForeignCommandLine,
): Promise<ServeCommandLine> {
  const defaults: FileSettings = new Map([...containerDefaults(), ...(foreign?.defaults ?? [])]);
  const sources = { env, foreign: foreign?.settings ?? new Map() };
  const parsed = parseSettings("serve", argv, { ...sources, files: defaults });
  const given = { ...(foreign && { foreign }) };
  if (parsed.settings.config.length === 0) return { ...(await applyWords(withControl(parsed))), configs: [], ...given };
  // Not needed for help, which should not wait for it.
  const { readConfigFile } = await import("../../serving/repository/config/read-config-file.ts");
  const configs: ConfigFile[] = [];
  for (const path of parsed.settings.config) configs.push(await readConfigFile(path, [...FILE_SETTINGS.keys()]));
  const ofFiles: FileSettings = new Map(configs.flatMap(({ settings }) => [...readFileSettings(settings)]));
  const files: FileSettings = new Map([...defaults, ...ofFiles]);
  const withFiles = withControl(parseSettings("serve", argv, { ...sources, files }));
  return { ...(await applyWords(withFiles)), configs, ...given };
}

/**
 * Models that load only when a client asks for them need a client that may: programs
 * on this machine, unless something else is said.
 */
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
