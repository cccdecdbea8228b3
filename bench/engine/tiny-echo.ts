import type { LoadTarget } from "../load/load-job.ts";
import { type BenchRun, type Group, paired, throughputRatios } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, holds, plainTarget, predictMessage } from "./messages.ts";
import { perSecond, race, typicalMs } from "./race.ts";
import { type BenchServer, benchFile, startKserving, startProgram } from "./servers.ts";

const ECHO = ["--driver", benchFile("echo-driver.ts"), "--model-path", "none"];

/** Servers that are compared with a bare one, in how many threads, and by how much they may be slower. */
const SERVERS = {
  inline: { args: ["--driver", "null"], what: "null driver, inline", atLeast: 0.85, atMostMs: 0.05 },
  modelThread: { args: ECHO, what: "echo driver, 1 model thread", atLeast: 0.75, atMostMs: 0.15 },
  hookThread: {
    args: [...ECHO, "--hooks", benchFile("identity-hooks.ts")],
    what: "identity hooks, 1 hook + 1 model thread",
    atLeast: 0.65,
    atMostMs: 0.2,
  },
} as const;
type Name = keyof typeof SERVERS;
type Targets = Readonly<Record<Name | "bare", LoadTarget>>;
const NAMES = Object.keys(SERVERS) as Name[];

const DATA = floats(16);
const MESSAGE = predictMessage([1, 16], DATA);

/** 16 floats there and back. */
export const tinyEcho: Group = {
  name: "tiny gRPC echo",
  run: async (bench) => {
    const bare = await startProgram("echo-server.ts");
    const servers: BenchServer[] = [];
    const targets = { bare: plainTarget(bare.grpcPort, MESSAGE, MESSAGE) } as Record<Name | "bare", LoadTarget>;
    for (const name of NAMES) {
      const server = await startKserving(SERVERS[name].args);
      targets[name] = await grpcTarget(server.grpcPort, MESSAGE, (outputs) => holds(outputs, DATA));
      servers.push(server);
    }
    const figures = [...(await throughput(bench, targets)), ...(await latency(bench, targets))];
    for (const server of servers) await server.stop();
    bare.stop();
    return figures;
  },
};

async function throughput(bench: BenchRun, targets: Targets): Promise<Figure[]> {
  bench.say("32 in flight over 8 connections");
  const { bare, ...ours } = await race(bench, targets, { connections: 8, inFlight: 32, seconds: 1 });
  return NAMES.map((name) => ({
    name: `tiny gRPC echo, 32 in flight: ${SERVERS[name].what}`,
    ours: perSecond(ours[name]),
    ceiling: `${perSecond(bare)} bare grpc-js`,
    values: throughputRatios(ours[name], bare),
    unit: "×",
    target: { atLeast: SERVERS[name].atLeast },
  }));
}

async function latency(bench: BenchRun, targets: Targets): Promise<Figure[]> {
  bench.say("1 in flight");
  const { bare, ...ours } = await race(bench, targets, { connections: 1, inFlight: 1, seconds: 1 });
  return NAMES.map((name) => ({
    name: `the same, 1 in flight, p50 over bare: ${SERVERS[name].what}`,
    ours: typicalMs(ours[name]),
    ceiling: `${typicalMs(bare)} bare grpc-js`,
    values: paired(ours[name], bare, (a, b) => a.p50Ms - b.p50Ms),
    unit: "ms",
    target: { atMost: SERVERS[name].atMostMs },
  }));
}
