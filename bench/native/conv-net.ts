import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import { cpuMs } from "../../test/helpers/process-usage.ts";
import { alternate, type BenchRun, type Group, paired } from "../engine/bench-run.ts";
import { cpuTurn } from "../engine/cpu-turn.ts";
import type { Figure } from "../engine/figure.ts";
import { floats } from "../engine/messages.ts";
import { type BenchProgram, startKserving, startProgram } from "../engine/servers.ts";
import { median } from "../load.ts";
import { makeConvNet } from "../models.ts";
import { PHOTO_SHAPE, PHOTO_SIDE } from "../photo-planes.ts";
import type { LoopAnswer, LoopQuestion } from "../session-loop.ts";
import { grpcTargets } from "./messages.ts";

const INPUTS = createTensors([["x", createTensor("float32", PHOTO_SHAPE, floats(3 * PHOTO_SIDE * PHOTO_SIDE))]]);
const PRESS = { connections: 1, inFlight: 8 };
/** With so few requests a second, V8 takes half a minute to compile all code that each of them runs. */
const WARM_UP_SECONDS = 30;

/** A model of some 10 ms: what the server adds to the runtime's own time. */
export const convNet: Group = {
  name: "conv net",
  run: async (bench) => {
    const model = makeConvNet();
    const loop = await startProgram("session-loop.ts", [model]);
    const figures: Figure[] = [];
    for (const instances of [1, 2]) figures.push(await overLoop(bench, { model, loop, instances }));
    loop.stop();
    return figures;
  },
};

interface Case {
  readonly model: string;
  readonly loop: BenchProgram;
  readonly instances: number;
}

async function overLoop(bench: BenchRun, { model, loop, instances }: Case): Promise<Figure> {
  bench.say(`${instances} instance(s)`);
  const server = await startKserving(["--model-path", model, "--threads", "1", "--instances", String(instances)]);
  const { ours: target } = await grpcTargets(server.grpcPort, INPUTS, ({ y }) => y?.data.length === 1000);
  const seconds = bench.isQuick ? 1 : 1.5;
  await bench.load.runClean({ ...target, ...PRESS, seconds: bench.isQuick ? 2 : WARM_UP_SECONDS });
  const results = await alternate(bench.rounds, {
    ours: async () => (await cpuTurn(bench.load, server.pid, { ...target, ...PRESS, seconds })).cpuUs / 1000,
    loop: () => loopMs(loop, seconds),
  });
  await server.stop();
  return {
    name: `conv net (602 KB in), V2 gRPC, 8 in flight, ${instances} instance(s), CPU`,
    ours: `${median(results.ours).toFixed(2)} ms`,
    ceiling: `${median(results.loop).toFixed(2)} ms session.run in a loop`,
    values: paired(results.ours, results.loop, (a, b) => a / b),
    unit: "×",
    target: { atMost: 1.02 },
  };
}

/** Processor time of one run of the bare loop, in milliseconds. */
async function loopMs(loop: BenchProgram, seconds: number): Promise<number> {
  const before = cpuMs(loop.pid);
  const { requests } = await loop.ask<LoopAnswer>({ seconds, overlap: 1 } satisfies LoopQuestion);
  return (cpuMs(loop.pid) - before) / requests;
}
