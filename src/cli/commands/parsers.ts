import type { Command } from "commander";
import { COMMANDS, type CommandName } from "../command-names.ts";
import { createFlagParser } from "../settings/flag-parser.ts";

/** Parsers of the commands that have no settings. */
const PARSERS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  inspect: async () => (await import("./inspect-command.ts")).createInspectCommand(),
  infer: async () => (await import("./infer-command.ts")).createInferCommand(),
  compare: async () => (await import("./compare-command.ts")).createCompareCommand(),
  bench: async () => (await import("./bench-command.ts")).createBenchCommand(),
  client: async () => (await import("./client-command.ts")).createClientCommand(),
  tune: async () => (await import("./tune-command.ts")).createTuneCommand(),
  drivers: async () => (await import("./drivers-command.ts")).createDriversCommand(),
  new: async () => (await import("./new-command.ts")).createNewCommand(),
  export: async () => (await import("./export-command.ts")).createExportCommand([]),
  doctor: async () => (await import("./doctor-command.ts")).createDoctorCommand(),
  completion: async () => (await import("./create-completion-command.ts")).createCompletionCommand(),
  replay: async () => (await import("./replay-command.ts")).createReplayCommand(),
  health: async () => (await import("./health-command.ts")).createHealthCommand(""),
  config: async () => (await import("./config-command.ts")).createConfigCommand(),
  runtimes: async () => (await import("./runtimes-command.ts")).createRuntimesCommand(),
  "hash-password": async () => (await import("./hash-command.ts")).createHashCommand("hash-password"),
  "hash-token": async () => (await import("./hash-command.ts")).createHashCommand("hash-token"),
};

/** The parsers of our own commands by name, `serve` and `proxy` first. */
export async function allParsers(): Promise<ReadonlyMap<string, Command>> {
  const names = Object.keys(COMMANDS) as CommandName[];
  const others = await Promise.all(names.map(async (name) => [name, await PARSERS[name]()] as const));
  const ofSettings = (["serve", "proxy"] as const).map((name) => [name, createFlagParser(name, () => {})] as const);
  return new Map([...ofSettings, ...others]);
}
