/** The commands that take settings. */
export type SettingsCommand = "serve" | "proxy";

/** The words that may stand first on the command line. `serve` is meant where none does; `runtimes` has no settings, but commands of its own. */
export const COMMAND_NAMES = ["serve", "proxy", "runtimes"] as const;
