import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { type BenchRun, type Group, paired } from "../engine/bench-run.ts";
import type { Figure } from "../engine/figure.ts";
import { floats, holds } from "../engine/messages.ts";
import { startKserving, startProgram } from "../engine/servers.ts";
import { cpuRace, type Side, typicalUs } from "./cpu-race.ts";
import { grpcTargets, httpTargets } from "./messages.ts";

/** One image of 224 x 224 in float32: 602 KB. */
const DATA = floats(150_528);
const INPUTS = createTensors([["x", createTensor("float32", [1, 3, 224, 224], DATA)]]);
const MOST_US = 600;

/** A large tensor there and back. */
export const large: Group = {
  name: "602 KB",
  run: async (bench) => {
    const ours = await startKserving(["--driver", "null"]);
    const http = await startProgram("echo-server.ts");
    const http2 = await startProgram("raw-http2-server.ts");
    const check = (outputs: typeof INPUTS) => holds(outputs, DATA);
    const overHttp = await httpTargets(ours.httpPort, INPUTS, { check });
    const overGrpc = await grpcTargets(ours.grpcPort, INPUTS, check);
    const figures: Figure[] = [];
    for (const inFlight of [1, 8]) {
      const sides = {
        ours: { pid: ours.pid, target: overHttp.ours },
        bare: { pid: http.pid, target: overHttp.bare(http.httpPort) },
      };
      figures.push(...(await both(bench, { wire: "V2 HTTP binary", bare: "node:http", inFlight, sides })));
    }
    const sides = {
      ours: { pid: ours.pid, target: overGrpc.ours },
      bare: { pid: http2.pid, target: overGrpc.bare(http2.grpcPort) },
    };
    figures.push(...(await both(bench, { wire: "V2 gRPC", bare: "node:http2", inFlight: 8, sides })));
    await ours.stop();
    http.stop();
    http2.stop();
    return figures;
  },
};

interface Case {
  readonly wire: string;
  readonly bare: string;
  readonly inFlight: number;
  readonly sides: Readonly<Record<"ours" | "bare", Side>>;
}

async function both(bench: BenchRun, { wire, bare: name, inFlight, sides }: Case): Promise<Figure[]> {
  bench.say(`${wire}, ${inFlight} in flight`);
  const { ours, bare } = await cpuRace(bench, sides, { connections: inFlight, inFlight, requests: 1200 });
  const common = { ours: typicalUs(ours), ceiling: `${typicalUs(bare)} bare ${name}` };
  const what = `602 KB there and back, ${wire}, ${inFlight} in flight, CPU: null driver`;
  const absolute: Figure = {
    ...common,
    name: what,
    values: ours.map(({ cpuUs }) => cpuUs),
    unit: "µs",
    ...(name === "node:http" && { target: { atMost: MOST_US } }),
  };
  return [absolute, { ...common, name: what, values: paired(ours, bare, (a, b) => a.cpuUs / b.cpuUs), unit: "×" }];
}
