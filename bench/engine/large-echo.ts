import type { LoadTarget } from "../load/load-job.ts";
import { type BenchRun, type Group, throughputRatios } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, holds, plainTarget, predictMessage } from "./messages.ts";
import { perSecond, race, typicalMs } from "./race.ts";
import { startKserving, startProgram } from "./servers.ts";

/** One image of 224 x 224 in float32: 602 KB. */
const DATA = floats(150_528);
const MESSAGE = predictMessage([1, 3, 224, 224], DATA);
/** Each way. */
const DELAY_MS = 2;

/** A large message there and back, on the same machine and over a distance. */
export const largeEcho: Group = {
  name: "602 KB gRPC echo",
  run: async (bench) => {
    const ours = await startKserving(["--driver", "null"]);
    const bare = await startProgram("raw-http2-server.ts");
    const peer = await startProgram("loader-echo-server.ts");
    const distant = await startProgram("delay-proxy.ts", [String(ours.grpcPort), String(DELAY_MS)]);
    const distantBare = await startProgram("delay-proxy.ts", [String(bare.grpcPort), String(DELAY_MS)]);
    const isEcho = (port: number) => grpcTarget(port, MESSAGE, (outputs) => holds(outputs, DATA));
    const targets = {
      ours: await isEcho(ours.grpcPort),
      bare: plainTarget(bare.grpcPort, MESSAGE, MESSAGE),
      peer: await isEcho(peer.grpcPort),
    };
    const distances = {
      ours: await isEcho(distant.grpcPort),
      bare: plainTarget(distantBare.grpcPort, MESSAGE, MESSAGE),
    };
    const figures = [...(await near(bench, targets)), await far(bench, distances)];
    distant.stop();
    distantBare.stop();
    await ours.stop();
    bare.stop();
    peer.stop();
    return figures;
  },
};

async function near(
  bench: BenchRun,
  targets: Readonly<Record<"ours" | "bare" | "peer", LoadTarget>>,
): Promise<Figure[]> {
  bench.say("one connection, 8 in flight");
  const { ours, bare, peer } = await race(bench, targets, { connections: 1, inFlight: 8, seconds: 1 });
  const common = { unit: "×", ours: perSecond(ours) } as const;
  const name = "602 KB gRPC echo, one connection, 8 in flight";
  return [
    {
      ...common,
      name: `${name}, against the usual server`,
      ceiling: `${perSecond(peer)} grpc-js + proto-loader`,
      values: throughputRatios(ours, peer),
      target: { atLeast: 2.5 },
    },
    {
      ...common,
      name: `${name}, against the bare one`,
      ceiling: `${perSecond(bare)} node:http2, same windows`,
      values: throughputRatios(ours, bare),
      target: { atLeast: 0.75 },
    },
  ];
}

async function far(bench: BenchRun, targets: Readonly<Record<"ours" | "bare", LoadTarget>>): Promise<Figure> {
  bench.say(`over a round trip of ${2 * DELAY_MS} ms`);
  const results = await race(bench, targets, { connections: 1, inFlight: 1, seconds: 0.8 });
  return {
    name: `602 KB gRPC echo over a round trip of ${2 * DELAY_MS} ms, 1 in flight, median`,
    ours: typicalMs(results.ours),
    ceiling: `${typicalMs(results.bare)} node:http2, same windows`,
    values: results.ours.map(({ p50Ms }) => p50Ms),
    unit: "ms",
    target: { atMost: 10 },
  };
}
