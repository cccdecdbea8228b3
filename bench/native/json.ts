import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { type BenchRun, type Group, paired } from "../engine/bench-run.ts";
import type { Figure } from "../engine/figure.ts";
import { floats, holds, httpTarget } from "../engine/messages.ts";
import { type BenchServer, startKserving } from "../engine/servers.ts";
import { cpuRace, typicalUs } from "./cpu-race.ts";
import { httpTargets } from "./messages.ts";

/** Values of a request: a row, and a small image. */
const COUNTS = [16, 10_000] as const;

/** JSON of both protocols, for the same model and values. */
export const json: Group = {
  name: "JSON",
  run: async (bench) => {
    const server = await startKserving(["--driver", "null"]);
    const figures: Figure[] = [];
    for (const count of COUNTS) figures.push(await overTensorFlow(bench, server, count));
    await server.stop();
    return figures;
  },
};

async function overTensorFlow(bench: BenchRun, { pid, httpPort }: BenchServer, count: number): Promise<Figure> {
  bench.say(`${count} floats`);
  const data = floats(count);
  const inputs = createTensors([["x", createTensor("float32", [count], data)]]);
  const { ours } = await httpTargets(httpPort, inputs, { check: (outputs) => holds(outputs, data), isBinary: false });
  const body = Buffer.from(JSON.stringify({ inputs: Array.from(data) }));
  const theirs = await httpTarget(httpPort, body, ({ outputs }) => (outputs as unknown[]).length === count);
  const sides = { v2: { pid, target: ours }, tensorflow: { pid, target: theirs } };
  const turns = await cpuRace(bench, sides, { connections: 8, inFlight: 8, requests: count < 1000 ? 20_000 : 2000 });
  return {
    name: `${count} floats as JSON there and back, V2 over TensorFlow Serving's, 8 in flight, throughput: null driver`,
    ours: typicalUs(turns.v2),
    ceiling: `${typicalUs(turns.tensorflow)} TensorFlow Serving's JSON`,
    values: paired(turns.v2, turns.tensorflow, (a, b) => a.rate / b.rate),
    unit: "×",
    target: { atLeast: 0.95 },
  };
}
