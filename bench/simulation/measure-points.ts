import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "../../test/helpers/quantile.ts";
import { type StartedCommand, startCommand } from "../../test/helpers/start-command.ts";
import { exponential, type Scenario, simulate } from "./simulate.ts";

/** Share of the time in which a server works. */
const LOAD = 0.65;
/** Numbers of servers, each of which is asked as often. */
const PODS = [1, 3];
const REQUESTS_PER_POD = 1500;
/** Requests one after the other, whose times are those of the work. */
const ALONE = 1000;
/** Runs of the simulation, whose results differ by chance as those of the servers do. */
const RUNS = 200;

/**
 * Hooks that hold their only thread for a random time: work that takes no processor, so that servers do not share one.
 */
const HOOKS = `const cell = new Int32Array(new SharedArrayBuffer(4));
const work = () => Atomics.wait(cell, 0, 0, -13 * Math.log(1 - Math.random()));
export default { preprocess: (values) => (work(), values) };
`;
const BODY = JSON.stringify({ inputs: [{ name: "x", shape: [1], datatype: "FP32", data: [1] }] });
const QUANTILES = { "p50 ms": "p50Ms", "p99 ms": "p99Ms" } as const;

/** Load on servers, as the simulation has it on pods. */
interface Point extends Scenario {
  readonly requests: number;
}

/** Latencies that were measured, with the least and the greatest that the simulation predicts. */
export interface ComparedPoint {
  readonly pods: number;
  readonly quantile: keyof typeof QUANTILES;
  readonly measured: number;
  readonly predicted: readonly [least: number, greatest: number];
}

/**
 * Measures the time that a server works on a request, has the simulation predict from it the latencies of one server
 * and of three at random arrivals, and measures these: about a minute.
 */
export async function measurePoints(): Promise<readonly ComparedPoint[]> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-simulate-"));
  const hooks = join(folder, "hooks.js");
  writeFileSync(hooks, HOOKS);
  const servers = await Promise.all(Array.from({ length: Math.max(...PODS) }, () => start(hooks)));
  try {
    const serviceMs = await measureAlone(servers[0] as StartedCommand);
    const compared: ComparedPoint[] = [];
    for (const pods of PODS) {
      const point = pointOf(pods, serviceMs);
      compared.push(...compare(point, await measure(point, servers)));
    }
    return compared;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  }
}

function pointOf(pods: number, serviceMs: readonly number[]): Point {
  const meanMs = serviceMs.reduce((sum, ms) => sum + ms, 0) / serviceMs.length;
  const rate = (1000 * LOAD * pods) / meanMs;
  return { pods, serviceMs, rate, requests: REQUESTS_PER_POD * pods, parallel: 1, balancing: "random" };
}

function start(hooks: string): Promise<StartedCommand> {
  const flags = ["--driver=null", `--hooks=${hooks}`, "--workers=1", "--shutdown-delay=0"];
  const ports = ["--host=127.0.0.1", "--port=0", "--http-enable", "--http-port=0"];
  return startCommand([process.execPath, "bin/kserving.cjs", ...flags, ...ports]);
}

async function measureAlone({ http }: StartedCommand): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < ALONE; index += 1) times.push(await send(http, performance.now()));
  return times;
}

/**
 * Sends requests at random times, whether the ones before are answered or not; returns
 * their latencies, the least first.
 */
async function measure(point: Point, servers: readonly StartedCommand[]): Promise<readonly number[]> {
  const { pods, rate, requests } = point;
  const nextPauseMs = exponential(1000 / rate, Math.random);
  const sent: Promise<number>[] = [];
  let dueMs = performance.now();
  while (sent.length < requests) {
    dueMs += nextPauseMs();
    await sleep(Math.max(0, dueMs - performance.now()));
    const { http } = servers[Math.floor(Math.random() * pods)] as StartedCommand;
    sent.push(send(http, dueMs));
  }
  return (await Promise.all(sent)).sort((a, b) => a - b);
}

/** Resolves with the milliseconds since a time. */
async function send(http: string, sinceMs: number): Promise<number> {
  const answer = await fetch(`${http}/v2/models/default/infer`, { method: "POST", body: BODY });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return performance.now() - sinceMs;
}

function compare(point: Point, latencies: readonly number[]): readonly ComparedPoint[] {
  const runs = Array.from({ length: RUNS }, (_, seed) => simulate({ ...point, seed }));
  return Object.entries(QUANTILES).map(([name, key]) => {
    const predictions = runs.map((run) => run[key]);
    return {
      pods: point.pods,
      quantile: name as ComparedPoint["quantile"],
      measured: quantile(latencies, key === "p50Ms" ? 0.5 : 0.99),
      predicted: [Math.min(...predictions), Math.max(...predictions)],
    };
  });
}
