import type { Command } from "commander";
import { COMMANDS, type CommandName } from "../command-names.ts";
import type { Environment } from "../settings/environment.ts";
import { createFlagParser } from "../settings/flag-parser.ts";

/** The code of a command. */
interface CommandCode {
  /** Runs on the arguments behind the command's name; resolves with its exit code, or anything else for 0. */
  readonly run: (argv: readonly string[], env: Environment) => Promise<unknown>;
  readonly parser: () => Command;
}

/** Commands are imported when they run, so that help does not wait for gRPC and Express. */
const IMPORTS: Readonly<Record<CommandName, () => Promise<CommandCode>>> = {
  inspect: () =>
    import("./inspect-command.ts").then((code) => ({ run: code.inspect, parser: code.createInspectCommand })),
  infer: () => import("./infer-command.ts").then((code) => ({ run: code.infer, parser: code.createInferCommand })),
  compare: () =>
    import("./compare-command.ts").then((code) => ({ run: code.compare, parser: code.createCompareCommand })),
  bench: () => import("./bench-command.ts").then((code) => ({ run: code.bench, parser: code.createBenchCommand })),
  client: () => import("./client-command.ts").then((code) => ({ run: code.client, parser: code.createClientCommand })),
  tune: () => import("./tune-command.ts").then((code) => ({ run: code.tune, parser: code.createTuneCommand })),
  drivers: () =>
    import("./drivers-command.ts").then((code) => ({ run: code.drivers, parser: code.createDriversCommand })),
  new: () => import("./new-command.ts").then((code) => ({ run: code.create, parser: code.createNewCommand })),
  export: () =>
    import("./export-command.ts").then((code) => ({
      run: code.exportCommand,
      parser: () => code.createExportCommand([]),
    })),
  doctor: () => import("./doctor-command.ts").then((code) => ({ run: code.doctor, parser: code.createDoctorCommand })),
  completion: () =>
    import("./completion-command.ts").then((code) => ({
      run: (argv) => code.completion(argv, allParsers),
      parser: code.createCompletionCommand,
    })),
  replay: () => import("./replay-command.ts").then((code) => ({ run: code.replay, parser: code.createReplayCommand })),
  health: () =>
    import("./health-command.ts").then((code) => ({ run: code.health, parser: () => code.createHealthCommand("") })),
  config: () => import("./config-command.ts").then((code) => ({ run: code.config, parser: code.createConfigCommand })),
  runtimes: () =>
    import("./runtimes-command.ts").then((code) => ({ run: code.runtimes, parser: code.createRuntimesCommand })),
  "hash-password": () => importHash("hash-password"),
  "hash-token": () => importHash("hash-token"),
};

async function importHash(name: "hash-password" | "hash-token"): Promise<CommandCode> {
  const { hash, createHashCommand } = await import("./hash-command.ts");
  return { run: (argv) => hash(name, argv), parser: () => createHashCommand(name) };
}

/** Imports the function that runs a command. */
export async function importCommand(name: CommandName): Promise<CommandCode["run"]> {
  return (await IMPORTS[name]()).run;
}

/** The parsers of our own commands by name, `serve` and `proxy` first. */
export async function allParsers(): Promise<ReadonlyMap<string, Command>> {
  const names = Object.keys(COMMANDS) as CommandName[];
  const others = await Promise.all(names.map(async (name) => [name, (await IMPORTS[name]()).parser()] as const));
  const ofSettings = (["serve", "proxy"] as const).map((name) => [name, createFlagParser(name, () => {})] as const);
  return new Map([...ofSettings, ...others]);
}
