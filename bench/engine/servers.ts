import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "../../test/helpers/children.ts";
import { startCommand } from "../../test/helpers/start-command.ts";

/** The program under test. */
export const BIN = fileURLToPath(new URL("../../bin/kserving.cjs", import.meta.url));

/** A file of this folder's parent: a driver, hooks, a bare server. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}

/** A server under test, or a bare one beside it. */
export interface BenchServer {
  readonly grpcPort: number;
  /** 0 where it has none. */
  readonly httpPort: number;
  readonly pid: number;
  /** Its log, line by line. */
  onLog(listener: (event: { readonly msg: string; readonly ms?: number }) => void): void;
  stop(): Promise<void>;
}

/** Starts kserving (`bin`) on free ports, with HTTP unless that is not wanted. `nodeArgs` go to Node itself. */
export async function startKserving(
  args: readonly string[],
  nodeArgs: readonly string[] = [],
  { hasHttp = true, bin = BIN } = {},
): Promise<BenchServer> {
  // Node's arguments are for the process that serves.
  const alone = nodeArgs.length > 0 ? ["--no-supervisor"] : [];
  const local = [
    ...alone,
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    ...(hasHttp ? ["--http-enable", "--http-port", "0"] : []),
  ];
  const { grpc, http, child, stop } = await startCommand([process.execPath, ...nodeArgs, bin, ...local, ...args]);
  watchChild(child);
  return {
    grpcPort: portOf(grpc),
    httpPort: portOf(http),
    pid: child.pid as number,
    onLog: (listener) => {
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n")) if (line.startsWith("{")) listener(JSON.parse(line));
      });
    },
    stop,
  };
}

/** A program of this benchmark in a process of its own, asked by messages. */
export interface BenchProgram {
  /** 0 where it has none. */
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly pid: number;
  ask<Answer>(question: unknown): Promise<Answer>;
  stop(): void;
}

/**
 * Starts a program of this benchmark, which sends the addresses that it listens on; it
 * ends when its parent lets go of it.
 */
export async function startProgram(name: string, args: readonly string[] = []): Promise<BenchProgram> {
  const child = watchChild(fork(benchFile(name), args, { serialization: "advanced" }));
  const [ready] = await once(child, "message");
  return {
    grpcPort: portOf(ready.grpc),
    httpPort: portOf(ready.http),
    pid: child.pid as number,
    ask: async (question) => {
      child.send(question as object);
      const [answer] = await once(child, "message");
      return answer;
    },
    stop: () => child.disconnect(),
  };
}

function portOf(address = ""): number {
  return Number(address.split(":").at(-1));
}
