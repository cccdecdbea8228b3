import type { CommandName } from "../command-names.ts";
import type { Environment } from "../settings/environment.ts";

/** Runs a command on what follows its name; resolves with its exit code, or anything else for 0. */
type RunCommand = (argv: readonly string[], env: Environment) => Promise<unknown>;

/** Commands are imported when they run, so that help does not wait for gRPC and Express. */
const MODULES: Readonly<Record<CommandName, () => Promise<RunCommand>>> = {
  inspect: async () => (await import("./inspect-command.ts")).inspect,
  infer: async () => (await import("./infer-command.ts")).infer,
  compare: async () => (await import("./compare-command.ts")).compare,
  bench: async () => (await import("./bench-command.ts")).bench,
  client: async () => (await import("./client-command.ts")).client,
  tune: async () => (await import("./tune-command.ts")).tune,
  drivers: async () => (await import("./drivers-command.ts")).drivers,
  new: async () => (await import("./new-command.ts")).create,
  export: async () => (await import("./export-command.ts")).exportCommand,
  doctor: async () => (await import("./doctor-command.ts")).doctor,
  completion: async () => (await import("./completion-command.ts")).completion,
  replay: async () => (await import("./replay-command.ts")).replay,
  health: async () => (await import("./health-command.ts")).health,
  config: async () => (await import("./config-command.ts")).config,
  runtimes: async () => (await import("./runtimes-command.ts")).runtimes,
  "hash-password": () => importHash("hash-password"),
  "hash-token": () => importHash("hash-token"),
};

async function importHash(name: "hash-password" | "hash-token"): Promise<RunCommand> {
  const { hash } = await import("./hash-command.ts");
  return (argv) => hash(name, argv);
}

/** The code of a command. */
export function importCommand(name: CommandName): Promise<RunCommand> {
  return MODULES[name]();
}
