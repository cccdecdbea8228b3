import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { pssMb } from "../test/helpers/process-usage.ts";
import { type BenchRun, paired, takeTurns } from "./engine/bench-run.ts";
import { type CpuTurn, cpuTurn } from "./engine/cpu-turn.ts";
import type { Figure } from "./engine/figure.ts";
import { type InstrumentedServer, startInstrumented } from "./engine/instrumented-server.ts";
import { type BenchServer, benchFile, startKserving } from "./engine/servers.ts";
import { LoadGenerator } from "./load/load-generator.ts";
import type { LoadTarget } from "./load/load-job.ts";
import { median } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import { openAnswers, streamTarget, unaryTarget } from "./stream/messages.ts";

const ROUNDS = 20;
const QUICK_ROUNDS = 5;
const OPTIONS = { quick: { type: "boolean", default: false }, only: { type: "string" } } as const;

/** Rows by what they are about. */
const GROUPS = { speed, memory } as const;

/** Models: an echo without hooks, and a generator in the main thread and in a thread of hooks. */
const HOOKS = benchFile("stream-hooks.ts");
const MODELS = [
  { name: "echo", driver: "null" },
  { name: "inline", stages: [{ driver: "null" }], hooks: HOOKS, workers: 0 },
  { name: "thread", stages: [{ driver: "null" }], hooks: HOOKS, workers: 1 },
] as const;
type Generating = "inline" | "thread";
const PLACES: Readonly<Record<Generating, string>> = { inline: "in the main thread", thread: "in a hook thread" };

/** Parts of each answer, and answers or parts of a turn; a quarter of them in a quick run. */
const PARTS = 500;
const TURN = 128_000;
const BUSY = 32;
const IDLE_ANSWERS = 1000;
const KB_PER_MB = 1024;

/** Answers in parts beside answers in one, over V2 gRPC, in one server: one table. `--only speed` or `memory`. */
export async function runStream(args: readonly string[]): Promise<void> {
  const { quick, only } = parseArgs({ args: [...args], options: OPTIONS }).values;
  endChildrenOnSignal();
  const load = await LoadGenerator.start();
  const say = (what: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${what}`);
  const bench: BenchRun = { rounds: quick ? QUICK_ROUNDS : ROUNDS, isQuick: quick, load, say };
  const folder = mkdtempSync(join(tmpdir(), "kserving-bench-"));
  const config = join(folder, "models.json");
  writeFileSync(config, JSON.stringify({ models: MODELS }));
  const serving = ["--config", config, "--hook-timeout", "0"];
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(GROUPS))
    if (only === undefined || name === only) figures.push(...(await measure(bench, serving)));
  load.stop();
  rmSync(folder, { recursive: true });
  printFigures(figures, bench.rounds, "CPU is the processor time of the whole server process for each answer or part.");
}

/** Answers of one kind. */
interface Side {
  readonly target: LoadTarget;
  readonly inFlight: number;
  /** Of each answer. */
  readonly parts: number;
}

/** The cost of a part, or of an answer in one. */
interface PartTurn extends CpuTurn {
  readonly parts: number;
}

async function speed(bench: BenchRun, serving: readonly string[]): Promise<Figure[]> {
  bench.say("speed");
  const server = await startKserving(serving);
  const turns = await takeTurns(bench.rounds, await sidesOf(server), {
    warmUp: (side) => turnOf(bench, server, side, TURN / 4),
    turn: (side) => turnOf(bench, server, side, bench.isQuick ? TURN / 4 : TURN),
  });
  await server.stop();
  return [
    ...(["inline", "thread"] as const).map((place) => beside(place, turns[place], turns.unary, BUSY)),
    ...(["inline", "thread"] as const).map((place) => beside(place, turns[`${place}Alone`], turns.unaryAlone, 1)),
    hookThread(BUSY, turns.thread, turns.inline),
    hookThread(1, turns.threadAlone, turns.inlineAlone),
    ...(["inline", "thread"] as const).map((place) => firstPart(place, turns[`${place}First`], turns.unaryAlone)),
  ];
}

async function sidesOf({ grpcPort: port }: BenchServer) {
  const unary = await unaryTarget(port, "echo");
  const [inline, thread] = [await streamTarget(port, "inline", PARTS), await streamTarget(port, "thread", PARTS)];
  const [inlineFirst, threadFirst] = [await streamTarget(port, "inline", 1), await streamTarget(port, "thread", 1)];
  return {
    unary: { target: unary, inFlight: BUSY, parts: 1 },
    inline: { target: inline, inFlight: BUSY, parts: PARTS },
    thread: { target: thread, inFlight: BUSY, parts: PARTS },
    unaryAlone: { target: unary, inFlight: 1, parts: 1 },
    inlineAlone: { target: inline, inFlight: 1, parts: PARTS },
    threadAlone: { target: thread, inFlight: 1, parts: PARTS },
    inlineFirst: { target: inlineFirst, inFlight: 1, parts: 1 },
    threadFirst: { target: threadFirst, inFlight: 1, parts: 1 },
  } satisfies Record<string, Side>;
}

async function turnOf({ load }: BenchRun, { pid }: BenchServer, side: Side, count: number): Promise<PartTurn> {
  const { target, inFlight, parts } = side;
  // Alone, an answer takes as long as several beside others.
  const requests = Math.max(inFlight, Math.round(count / parts / (inFlight === 1 ? 4 : 1)));
  const turn = await cpuTurn(load, pid, { ...target, connections: Math.min(8, inFlight), inFlight, requests });
  return { rate: turn.rate * parts, cpuUs: turn.cpuUs / parts, p50Ms: turn.p50Ms, parts };
}

function beside(place: Generating, ours: readonly PartTurn[], unary: readonly PartTurn[], count: number): Figure {
  return {
    name: `parts of 16 floats, ${count} at a time, generator ${PLACES[place]}: parts over unary answers per second`,
    ours: `${typicalRate(ours)} parts`,
    ceiling: `${typicalRate(unary)} unary`,
    values: paired(ours, unary, (a, b) => a.rate / b.rate),
    unit: "×",
    ...(place === "inline" && { target: { atLeast: 1 } }),
  };
}

function hookThread(count: number, ours: readonly PartTurn[], inline: readonly PartTurn[]): Figure {
  return {
    name: `parts of 16 floats, ${count} at a time: parts per second of a hook thread over the main thread`,
    ours: `${typicalRate(ours)} in a hook thread`,
    ceiling: `${typicalRate(inline)} in the main thread`,
    values: paired(ours, inline, (a, b) => a.rate / b.rate),
    unit: "×",
    target: { atLeast: 0.5 },
  };
}

/** The generator takes no time itself: all of it is the server's, the client's and the wire's. */
function firstPart(place: Generating, ours: readonly PartTurn[], unary: readonly PartTurn[]): Figure {
  const typicalMs = (turns: readonly PartTurn[]) => `${median(turns.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms`;
  return {
    name: `an answer with one part, 1 at a time, generator ${PLACES[place]}: p50 until its end`,
    ours: typicalMs(ours),
    ceiling: `${typicalMs(unary)} unary`,
    values: ours.map(({ p50Ms }) => p50Ms),
    unit: "ms",
    target: { atMost: 0.5 },
  };
}

function typicalRate(turns: readonly PartTurn[]): string {
  const cpu = median(turns.map(({ cpuUs }) => cpuUs)).toFixed(0);
  return `${median(turns.map(({ rate }) => rate)).toFixed(0)}/s (${cpu} µs CPU)`;
}

/** Memory of a thousand answers that have begun and wait for their next part. */
async function memory({ say }: BenchRun, serving: readonly string[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const place of ["inline", "thread"] as const) {
    say(`${IDLE_ANSWERS} open answers, generator ${PLACES[place]}`);
    const server = await startInstrumented(serving);
    // The first ones bring code and tables that stay.
    (await openAnswers(server.grpcPort, place, IDLE_ANSWERS)).close();
    const before = await settledMb(server);
    const open = await openAnswers(server.grpcPort, place, IDLE_ANSWERS);
    const after = await settledMb(server);
    open.close();
    await server.stop();
    figures.push({
      name: `memory of each of ${IDLE_ANSWERS} answers that wait for their second part, generator ${PLACES[place]}`,
      ours: `${before.toFixed(0)} MB, then ${after.toFixed(0)} MB`,
      values: [((after - before) * KB_PER_MB) / IDLE_ANSWERS],
      unit: "KB",
      target: { atMost: 20 },
    });
  }
  return figures;
}

/** Garbage may hold other garbage: the second collection frees what the first has made free. */
async function settledMb(server: InstrumentedServer): Promise<number> {
  await server.settle();
  await server.settle();
  return pssMb(server.pid);
}
