import { createTensor, createTensors, type Tensors } from "../../src/tensor/tensor.ts";
import { type BenchRun, type Group, paired } from "../engine/bench-run.ts";
import type { CpuTurn } from "../engine/cpu-turn.ts";
import type { Figure } from "../engine/figure.ts";
import { floats, holds } from "../engine/messages.ts";
import { type BenchProgram, type BenchServer, startKserving, startProgram } from "../engine/servers.ts";
import { makeDenseNet } from "../models.ts";
import { cpuRace, type Side, typicalUs } from "./cpu-race.ts";
import { grpcTargets, httpTargets } from "./messages.ts";

const DATA = floats(16);
const INPUTS = createTensors([["x", createTensor("float32", [1, 16], DATA)]]);
const PRESS = { connections: 32, inFlight: 32, requests: 20_000 };

/** Bare servers of each wire, and the goals. */
const WIRES = {
  "V2 gRPC": { bare: "node:http2", atMost: 1.3 },
  "V2 HTTP binary": { bare: "node:http", atMost: 1.8 },
} as const;
type Wire = keyof typeof WIRES;
/** The model adds so many microseconds at most. */
const MODEL_US = 5;
const ALONE_MS = 0.19;

/** 16 floats to an echo and to a tiny model. */
export const tiny: Group = {
  name: "tiny",
  run: async (bench) => {
    const echo = await startKserving(["--driver", "null"]);
    const model = await startKserving(["--model-path", makeDenseNet("tiny-MLP", [16, 32, 8]), "--threads", "1"]);
    const bare = {
      "V2 gRPC": await startProgram("raw-http2-server.ts"),
      "V2 HTTP binary": await startProgram("echo-server.ts"),
    };
    const figures: Figure[] = [];
    for (const wire of Object.keys(WIRES) as Wire[]) {
      const sides = await sidesOf(wire, { echo, model, bare: bare[wire] });
      figures.push(...(await busy(bench, wire, sides)), await alone(bench, wire, sides));
    }
    await Promise.all([echo.stop(), model.stop()]);
    for (const program of Object.values(bare)) program.stop();
    return figures;
  },
};

type Sides = Readonly<Record<"echo" | "model" | "bare", Side>>;

async function sidesOf(
  wire: Wire,
  { echo, model, bare }: { readonly echo: BenchServer; readonly model: BenchServer; readonly bare: BenchProgram },
): Promise<Sides> {
  const isGrpc = wire === "V2 gRPC";
  const targets = ({ grpcPort, httpPort }: BenchServer, check: (outputs: Tensors) => boolean) =>
    isGrpc ? grpcTargets(grpcPort, INPUTS, check) : httpTargets(httpPort, INPUTS, { check });
  const echoed = await targets(echo, (outputs) => holds(outputs, DATA));
  const scored = await targets(model, ({ y }) => y?.data.length === 8);
  return {
    echo: { pid: echo.pid, target: echoed.ours },
    model: { pid: model.pid, target: scored.ours },
    bare: { pid: bare.pid, target: echoed.bare(isGrpc ? bare.grpcPort : bare.httpPort) },
  };
}

async function busy(bench: BenchRun, wire: Wire, sides: Sides): Promise<Figure[]> {
  bench.say(`${wire}, 32 in flight`);
  const { echo, model, bare } = await cpuRace(bench, sides, PRESS);
  const besideBare = `${typicalUs(bare)} bare ${WIRES[wire].bare}`;
  return [
    {
      name: `echo of 16 floats, ${wire}, 32 in flight, CPU: null driver`,
      ours: typicalUs(echo),
      ceiling: besideBare,
      values: ratios(echo, bare),
      unit: "×",
      target: { atMost: WIRES[wire].atMost },
    },
    {
      name: `tiny ONNX model, ${wire}, 32 in flight, CPU over the echo's`,
      ours: typicalUs(model),
      ceiling: `${typicalUs(echo)} echo`,
      values: paired(model, echo, (a, b) => a.cpuUs - b.cpuUs),
      unit: "µs",
      target: { atMost: MODEL_US },
    },
    {
      name: `tiny ONNX model, ${wire}, 32 in flight, CPU`,
      ours: typicalUs(model),
      ceiling: besideBare,
      values: ratios(model, bare),
      unit: "×",
    },
  ];
}

async function alone(bench: BenchRun, wire: Wire, { model }: Sides): Promise<Figure> {
  bench.say(`${wire}, 1 in flight`);
  const results = await cpuRace(bench, { model }, { connections: 1, inFlight: 1, requests: 4000 });
  return {
    name: `tiny ONNX model, ${wire}, 1 in flight, p50`,
    ours: `${typicalUs(results.model)} CPU`,
    values: results.model.map(({ p50Ms }) => p50Ms),
    unit: "ms",
    target: { atMost: ALONE_MS },
  };
}

function ratios(ours: readonly CpuTurn[], theirs: readonly CpuTurn[]): number[] {
  return paired(ours, theirs, (a, b) => a.cpuUs / b.cpuUs);
}
