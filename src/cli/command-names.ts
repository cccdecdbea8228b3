/** The commands that take settings. */
export type SettingsCommand = "serve" | "proxy";

/** Commands that take another server's command line. */
const FOREIGN_COMMAND_NAMES = ["tensorflow-model-server", "ovms", "ie_serving", "simple-tensorflow-serving"] as const;
/** One of {@link FOREIGN_COMMAND_NAMES}. */
export type ForeignCommandName = (typeof FOREIGN_COMMAND_NAMES)[number];

/**
 * The words that may stand first on the command line. `serve` is meant where none does; the others take flags or commands of their own.
 */
export const COMMAND_NAMES = [
  "serve",
  "proxy",
  "replay",
  "health",
  "config",
  "runtimes",
  "hash-password",
  "hash-token",
  ...FOREIGN_COMMAND_NAMES,
] as const;

/** The command of another server that a word means, with dashes or underscores; undefined for any other word. */
export function foreignCommand(word: string | undefined): ForeignCommandName | undefined {
  const plain = word?.replaceAll("-", "_");
  return FOREIGN_COMMAND_NAMES.find((name) => name.replaceAll("-", "_") === plain);
}
