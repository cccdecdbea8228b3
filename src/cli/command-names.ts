/** The commands that take settings. */
export type SettingsCommand = "serve" | "proxy";

/** The words that may stand first on the command line. `serve` is meant where none does; `config` and `runtimes` have commands of their own. */
export const COMMAND_NAMES = ["serve", "proxy", "config", "runtimes"] as const;
