import { spawn } from "node:child_process";
import { once } from "node:events";
import { watchChild } from "../../test/helpers/children.ts";
import { median } from "../load.ts";
import { alternate, type Group } from "./bench-run.ts";
import { BIN, startKserving } from "./servers.ts";

/** Time until the program can be used. */
export const start: Group = {
  name: "start",
  run: async ({ rounds, say }) => {
    say("null driver, --help, node alone");
    const { ready, help, node } = await alternate(rounds, {
      ready: () => timeToReady(["--driver", "null"]),
      help: () => timeToEnd([BIN, "--help"]),
      node: () => timeToEnd(["-e", "0"]),
    });
    const ceiling = `${median(node).toFixed(0)} ms node -e 0`;
    return [
      { name: "start to ready: null driver", ours: "", ceiling, values: ready, unit: "ms", target: { atMost: 400 } },
      { name: "kserving --help", ours: "", ceiling, values: help, unit: "ms", target: { atMost: 150 } },
    ];
  },
};

/** Milliseconds from the start of a server with these arguments until it is ready. */
export async function timeToReady(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const server = await startKserving(args);
  const took = performance.now() - started;
  await server.stop();
  return took;
}

async function timeToEnd(args: readonly string[]): Promise<number> {
  const started = performance.now();
  await once(watchChild(spawn(process.execPath, args, { stdio: "ignore" })), "exit");
  return performance.now() - started;
}
