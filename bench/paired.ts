import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createTensor, createTensors } from "../src/tensor/tensor.ts";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { pssMb } from "../test/helpers/process-usage.ts";
import { type BenchRun, paired } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { floats, holds, httpTarget } from "./engine/messages.ts";
import { type BenchServer, startKserving } from "./engine/servers.ts";
import { LoadGenerator } from "./load/load-generator.ts";
import type { LoadTarget } from "./load/load-job.ts";
import { makeDenseNet } from "./models.ts";
import { type CountedPress, cpuRace, typicalUs } from "./native/cpu-race.ts";
import { grpcTargets, httpTargets } from "./native/messages.ts";
import { printFigures } from "./print-figures.ts";

const OPTIONS = {
  against: { type: "string" },
  quick: { type: "boolean", default: false },
  only: { type: "string" },
} as const;
const ROUNDS = 20;
const QUICK_ROUNDS = 5;

/** One kind of request, and the server that it is sent to. */
interface Case {
  readonly name: string;
  readonly server: "echo" | "model";
  readonly press: CountedPress;
  target(server: BenchServer): Promise<LoadTarget>;
}

const [TINY, FEW, ONE] = [press(32, 20_000), press(8, 20_000), press(1, 8000)];
const LARGE = press(8, 1200);

const CASES: readonly Case[] = [
  { name: "16 floats, V2 gRPC, echo", server: "echo", press: TINY, target: overGrpc(16) },
  { name: "16 floats, V2 gRPC, echo", server: "echo", press: FEW, target: overGrpc(16) },
  { name: "16 floats, V2 gRPC, echo", server: "echo", press: ONE, target: overGrpc(16) },
  { name: "16 floats, V2 HTTP binary, echo", server: "echo", press: TINY, target: overHttp(16) },
  { name: "16 floats, V2 HTTP JSON, echo", server: "echo", press: TINY, target: overHttp(16, false) },
  { name: "16 floats, TensorFlow Serving's JSON, echo", server: "echo", press: TINY, target: overTensorFlow(16) },
  { name: "16 floats, V2 gRPC, tiny ONNX model", server: "model", press: TINY, target: overGrpc(16) },
  { name: "16 floats, V2 gRPC, tiny ONNX model", server: "model", press: FEW, target: overGrpc(16) },
  { name: "16 floats, V2 gRPC, tiny ONNX model", server: "model", press: ONE, target: overGrpc(16) },
  { name: "16 floats, V2 HTTP binary, tiny ONNX model", server: "model", press: TINY, target: overHttp(16) },
  { name: "602 KB, V2 gRPC, echo", server: "echo", press: LARGE, target: overGrpc(150_528) },
  { name: "602 KB, V2 HTTP binary, echo", server: "echo", press: LARGE, target: overHttp(150_528) },
];

/** This build beside another one: the same requests in alternating turns, processor time of each. */
export async function runPaired(args: readonly string[]): Promise<void> {
  const { against, quick, only = "" } = parseArgs({ args: [...args], options: OPTIONS }).values;
  if (against === undefined) throw new Error("name the other build: npm run bench -- paired --against FOLDER");
  endChildrenOnSignal();
  const load = await LoadGenerator.start();
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const say = (what: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${what}`);
  const builds = await Promise.all([startBuild(), startBuild(join(resolve(against), "bin/kserving.cjs"))]);
  const figures: Figure[] = [];
  for (const one of CASES.filter(({ name }) => name.includes(only))) {
    say(`${one.name}, ${one.press.inFlight} in flight`);
    figures.push(...(await race({ rounds, isQuick: quick, load, say }, one, builds)));
  }
  figures.push(...memoryOf(builds));
  await Promise.all(builds.flatMap(({ echo, model }) => [echo.stop(), model.stop()]));
  load.stop();
  printFigures(figures, rounds, "CPU is the processor time of the whole server process, divided by its requests.");
}

function press(inFlight: number, requests: number): CountedPress {
  return { connections: inFlight, inFlight, requests };
}

/** Memory of the servers after all that was asked of them. */
function memoryOf([ours, other]: readonly [Build, Build]): Figure[] {
  return (["echo", "model"] as const).map((name) => {
    const [own, others] = [pssMb(ours[name].pid), pssMb(other[name].pid)];
    const common = { name: `PSS of the ${name} server at the end`, target: { atMost: 10 }, unit: "MB" } as const;
    return { ...common, values: [own - others], ours: `${own.toFixed(0)} MB`, ceiling: `${others.toFixed(0)} MB` };
  });
}

type Build = Readonly<Record<Case["server"], BenchServer>>;

async function startBuild(bin?: string): Promise<Build> {
  const start = (...args: string[]) => startKserving(args, [], bin === undefined ? {} : { bin });
  return {
    echo: await start("--driver", "null"),
    model: await start("--model-path", makeDenseNet("tiny-MLP", [16, 32, 8]), "--threads", "1"),
  };
}

async function race(bench: BenchRun, one: Case, [ours, other]: readonly [Build, Build]): Promise<Figure[]> {
  const sideOf = async ({ [one.server]: server }: Build) => ({ pid: server.pid, target: await one.target(server) });
  const sides = { ours: await sideOf(ours), other: await sideOf(other) };
  const turns = await cpuRace(bench, sides, one.press);
  const common = { name: `${one.name}, ${one.press.inFlight} in flight, CPU`, ours: typicalUs(turns.ours) };
  const ceiling = typicalUs(turns.other);
  return [
    {
      ...common,
      ceiling,
      values: paired(turns.ours, turns.other, (a, b) => a.cpuUs / b.cpuUs),
      unit: "×",
      target: { atMost: 1 },
    },
    { ...common, ceiling, values: paired(turns.ours, turns.other, (a, b) => a.cpuUs - b.cpuUs), unit: "µs" },
  ];
}

function tensors(count: number) {
  const data = floats(count);
  return { data, inputs: createTensors([["x", createTensor("float32", [1, count], data)]]) };
}

function overGrpc(count: number): Case["target"] {
  const { inputs } = tensors(count);
  return async ({ grpcPort }) => (await grpcTargets(grpcPort, inputs, isAnswer)).ours;
}

function overHttp(count: number, isBinary = true): Case["target"] {
  const { inputs } = tensors(count);
  return async ({ httpPort }) => (await httpTargets(httpPort, inputs, { check: isAnswer, isBinary })).ours;
}

/** An echo of the values, or the eight scores of the tiny model. */
function isAnswer({ x, y }: Parameters<Parameters<typeof grpcTargets>[2]>[0]): boolean {
  return x === undefined ? y?.data.length === 8 : holds({ x }, floats(x.data.length));
}

function overTensorFlow(count: number): Case["target"] {
  const body = Buffer.from(JSON.stringify({ inputs: Array.from(floats(count)) }));
  return ({ httpPort }) => httpTarget(httpPort, body, ({ outputs }) => (outputs as unknown[]).length === count);
}
