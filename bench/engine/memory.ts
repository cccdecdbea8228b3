import { setTimeout } from "node:timers/promises";
import { pssMb } from "../../test/helpers/process-usage.ts";
import type { LoadTarget } from "../load/load-job.ts";
import { makeDenseNet } from "../models.ts";
import type { BenchRun, Group } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { type InstrumentedServer, startInstrumented } from "./instrumented-server.ts";
import { floats, grpcTarget, holds, httpTarget, predictMessage } from "./messages.ts";
import { benchFile } from "./servers.ts";

const ECHO = ["--driver", benchFile("echo-driver.ts"), "--model-path", "none"];
const HOOKS = ["--hooks", benchFile("collecting-hooks.ts")];
/** Floats of the mixed messages, and one in how many each is. */
const MIX = [
  { count: 16, weight: 89 },
  { count: 2_000, weight: 10 },
  { count: 150_528, weight: 1 },
] as const;

/** Growth of memory under load, and the memory of each thread. */
export const memory: Group = {
  name: "memory",
  run: async (bench) => [await growth(bench), ...(await idle(bench))],
};

async function growth(bench: BenchRun): Promise<Figure> {
  const [before, after] = bench.isQuick ? [20_000, 60_000] : [20_000, 200_000];
  bench.say(`${after} requests of mixed sizes`);
  const server = await startInstrumented([...ECHO, ...HOOKS]);
  const ask = await mixedLoad(bench, server);
  await ask(before);
  const early = await returnedPss(server);
  await ask(after - before);
  const late = await returnedPss(server);
  await server.stop();
  return {
    name: `PSS after ${after} requests of mixed sizes (64 B to 602 KB, gRPC and REST) over after ${before}: 1 hook + 1 model thread`,
    ours: `${late.toFixed(0)} MB`,
    ceiling: `${early.toFixed(0)} MB`,
    values: [100 * (late / early - 1)],
    unit: "%",
    target: { atMost: 10 },
  };
}

/** Sends so many requests, nine in ten over gRPC. */
async function mixedLoad({ load }: BenchRun, { grpcPort, httpPort }: InstrumentedServer) {
  const targets: LoadTarget[] = [];
  for (const { count } of MIX) {
    const data = floats(count);
    targets.push(await grpcTarget(grpcPort, predictMessage([1, count], data), (outputs) => holds(outputs, data)));
  }
  const messages = targets.flatMap((target, kind) => Array(MIX[kind]?.weight).fill(target.messages[0]));
  const grpc = { ...(targets[0] as LoadTarget), messages, connections: 8, inFlight: 32 };
  const row = Buffer.from(JSON.stringify({ instances: [Array.from(floats(100))] }));
  const rest = { ...(await httpTarget(httpPort, row, () => true)), connections: 8, inFlight: 8 };
  return async (requests: number) => {
    await load.runClean({ ...grpc, requests: Math.round(requests * 0.9) });
    await load.runClean({ ...rest, requests: Math.round(requests * 0.1) });
  };
}

/** By then the server has given back to the system what is free: it looks every two seconds whether it is quiet. */
const RETURNED_MS = 5000;

/** Garbage may hold other garbage: the second collection frees what the first has made free. */
async function settledPss(server: InstrumentedServer): Promise<number> {
  await server.settle();
  await server.settle();
  return pssMb(server.pid);
}

async function returnedPss(server: InstrumentedServer): Promise<number> {
  await settledPss(server);
  await setTimeout(RETURNED_MS);
  return settledPss(server);
}

async function idle({ say }: BenchRun): Promise<Figure[]> {
  say("idle servers");
  const onnx = ["--model-path", makeDenseNet("tiny-MLP", [16, 32, 8]), "--threads", "1"];
  const base = await idlePss(["--driver", "null"]);
  const row = (what: string, megabytes: number): Figure => {
    return { name: `idle PSS: ${what}`, ours: "", values: [megabytes], unit: "MB" };
  };
  return [
    row("null driver, gRPC and HTTP, no thread", base),
    row("+ 1 model thread with an echo driver", (await idlePss(ECHO)) - base),
    row("+ 1 model thread with ONNX Runtime and a tiny model", (await idlePss(onnx)) - base),
    row("+ 1 hook thread with identity hooks", (await idlePss(["--driver", "null", ...HOOKS])) - base),
  ];
}

async function idlePss(args: readonly string[]): Promise<number> {
  const server = await startInstrumented(args);
  const megabytes = await settledPss(server);
  await server.stop();
  return megabytes;
}
