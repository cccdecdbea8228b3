import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { endChildrenOnSignal, watchChild } from "../test/helpers/children.ts";
import { pssMb } from "../test/helpers/process-usage.ts";
import { type StartedCommand, startCommand } from "../test/helpers/start-command.ts";
import { tlsFile, tlsPath } from "../test/helpers/tls-fixture.ts";
import { Asking, HOOKED_MODEL, LANE_MODEL } from "./soak/asking.ts";
import { hasGrown, restingMb } from "./soak/resting-memory.ts";
import { HOOK_MIX, LANE_MIX, type SoakCounts, SoakRun, STREAM_MIX } from "./soak/soak-run.ts";
import { StartedNumbers } from "./soak/started-numbers.ts";
import { STREAM_MODEL } from "./soak/stream-asking.ts";

const HELP = `Asks a server without pause, over gRPC, REST and PredictJSON, tiny and large, through hooks and an ONNX model; each request
carries a number, and every answer is checked. A hook thread is killed each 5 s (in turn: it exits, it never returns), the hooks
are loaded again each 20 s. Ends with 0 only when no answer was wrong, none failed but in a killed thread, and (from 6 minutes on) the
server's memory has not grown: it has three rests of 25 s, of which the last must not take over 5 % and 20 MB more. With --lane in place of
PredictJSON a model without hooks, which has to be run in the server's main thread. With --streams in place of PredictJSON a model that answers in parts gets half of the
requests, over gRPC and as events; one client in five leaves early, and no generator may be left at a rest. With --listeners several
threads accept the connections; with --tls they are encrypted.

  npm run check -- soak --minutes 10 --lane --listeners 2`;

const KILL_EACH_MS = 5_000;
const RELOAD_EACH_MS = 20_000;
/** At the end of each part the server rests, and its memory then must not grow from part to part. */
const PARTS = 3;
/** In less time code and pools still come. */
const JUDGED_MINUTES = 6;
/** Above the time that a generator has to end once it was left. */
const LEFT_WITHIN_MS = 5000;
/** Above the server's own limit for requests under way. */
const END_WITHIN_MS = 30_000;

const MIXES = { hooks: HOOK_MIX, lane: LANE_MIX, streams: STREAM_MIX } as const;
const OPTIONS = {
  minutes: { type: "string", default: "10" },
  lane: { type: "boolean" },
  streams: { type: "boolean" },
  tls: { type: "boolean" },
  listeners: { type: "string", default: "1" },
  help: { type: "boolean" },
} as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else if (flags.lane && flags.streams) throw new Error("Either --lane or --streams, please.");
else process.exitCode = await soak(Number(flags.minutes), flags.lane ? "lane" : flags.streams ? "streams" : "hooks");

/** Models that are asked beside the pipeline with hooks. */
type Kind = "hooks" | "lane" | "streams";

/** Gives the process's exit code. */
async function soak(minutes: number, kind: Kind): Promise<number> {
  endChildrenOnSignal();
  // As its supervisor would start it.
  process.env.MALLOC_ARENA_MAX ??= String(availableParallelism());
  const started = new StartedNumbers();
  const folder = mkdtempSync(join(tmpdir(), "kserving-soak-config-"));
  const config = join(folder, "models.json");
  writeFileSync(config, JSON.stringify({ models: modelsOf(started, kind) }));
  const instrument = `${pathToFileURL(fromRoot("bench/instrument.mjs"))}?out=${join(folder, "delay.json")}&shrink`;
  const command = [process.execPath, "--import", instrument, ...serverCommand(config, flags.listeners)];
  const server = await startCommand(command);
  watchChild(server.child);
  const crashed = once(server.child, "exit").then(([code, signal]) => {
    throw new Error(`the server ended by itself: code ${code}, signal ${signal}`);
  });
  try {
    const isClean = await Promise.race([run(server, started, { minutes, kind }), crashed]);
    crashed.catch(() => {});
    await stopInTime(server);
    console.log(isClean ? "Clean, and the server ended with 0." : "NOT CLEAN, see above.");
    return isClean ? 0 : 1;
  } finally {
    started.delete();
    rmSync(folder, { recursive: true });
  }
}

async function stopInTime(server: StartedCommand): Promise<void> {
  const late = wait(END_WITHIN_MS, undefined, { ref: false }).then(() => {
    throw new Error(`the server has not ended ${END_WITHIN_MS / 1000} s after it was told to`);
  });
  await Promise.race([server.stop(), late]);
}

function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

function serverCommand(config: string, listeners: string): string[] {
  return [
    fromRoot("bin/kserving.cjs"),
    // A death is to be seen.
    ...["--config", config, "--server-timing", "--no-supervisor"],
    ...(flags.tls ? ["--tls-cert", tlsPath("server.pem"), "--tls-key", tlsPath("server.key")] : []),
    // One client that ends so many threads would have to wait.
    ...["--hook-stall", "1", "--poison-requests", "0", "--threads", "1", "--listeners", listeners],
    ...["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ];
}

/** The pipeline with hooks, and perhaps a model beside it. */
function modelsOf(started: StartedNumbers, kind: Kind): readonly object[] {
  const path = fromRoot("test/fixtures/models/half-plus-two.onnx");
  const hooked = (name: string, hooks: string, stages: readonly object[]) => {
    return { name, stages, hooks: fromRoot(hooks), options: { soak_folder: started.folder }, workers: 2 };
  };
  const echo = { driver: fromRoot("bench/echo-driver.ts"), path: "none" };
  const pipeline = hooked(HOOKED_MODEL, "bench/soak-hooks.ts", [{ path }, echo]);
  if (kind === "lane") return [pipeline, { name: LANE_MODEL, path }];
  return kind === "streams" ? [pipeline, hooked(STREAM_MODEL, "bench/soak-stream-hooks.ts", [{ path }])] : [pipeline];
}

/** Gives whether everything was as it should be. */
async function run(
  { child, grpc, http }: StartedCommand,
  started: StartedNumbers,
  { minutes, kind }: { readonly minutes: number; readonly kind: Kind },
): Promise<boolean> {
  const pid = child.pid as number;
  const asking = new Asking(grpc, http, flags.tls ? tlsFile("ca.pem") : undefined);
  const soaking = new SoakRun(asking, started, MIXES[kind]);
  const hasLane = kind === "lane";
  const reloads = countReloads(child);
  let [laneRuns, isClean] = [0, true];
  const report = (when: string) => {
    const runs = asking.laneRuns();
    laneRuns += runs;
    const lane = hasLane ? `${runs} REST runs in the main thread, ` : "";
    isClean = print(when, soaking.report(), `${lane}${reloads()}, ${memory(pssMb(pid))}`) && isClean;
  };
  const rests: number[] = [];
  while (rests.length < PARTS) {
    if (rests.length > 0) soaking.goOn();
    const part = `part ${rests.length + 1}`;
    const disturbed = { pid, soaking, hasStreams: kind === "streams" };
    await disturb(disturbed, (minutes * 60_000) / PARTS, (minute) => report(`${part}, minute ${minute}`));
    await soaking.finish();
    report(`${part}, what was left`);
    isClean = (await haveEnded(soaking)) && isClean;
    rests.push(await restingMb(pid));
    console.log(`${part}, at rest: ${memory(rests.at(-1) as number)}`);
  }
  asking.close();
  const isLaneUsed = !hasLane || laneRuns > 0;
  if (!isLaneUsed) console.log("The small model never ran in the main thread.");
  const isGrowing = minutes >= JUDGED_MINUTES && hasGrown(rests);
  if (isGrowing) console.log("The memory at rest has grown.");
  return isClean && isLaneUsed && !isGrowing;
}

interface Disturbed {
  readonly pid: number;
  readonly soaking: SoakRun;
  readonly hasStreams: boolean;
}

/** Kills threads and loads hooks again for so long. */
async function disturb(
  { pid, soaking, hasStreams }: Disturbed,
  ms: number,
  report: (minute: number) => void,
): Promise<void> {
  const began = performance.now();
  for (let step = 1; step * KILL_EACH_MS <= ms; step++) {
    await wait(began + step * KILL_EACH_MS - performance.now());
    if ((step * KILL_EACH_MS) % RELOAD_EACH_MS === 0) process.kill(pid, "SIGHUP");
    soaking.kill(step % 2 === 1 ? 1 : 2, hasStreams && step % 4 < 2);
    const minute = (step * KILL_EACH_MS) / 60_000;
    if (Number.isInteger(minute)) report(minute);
  }
}

/** Waits for the generators of clients that have left; tells of those that do not end. */
async function haveEnded(soaking: SoakRun): Promise<boolean> {
  for (let waited = 0; soaking.unended() !== 0 && waited < LEFT_WITHIN_MS; waited += 100) await wait(100);
  const left = soaking.unended();
  if (left !== 0) console.log(`${left} generators are left.`);
  return left === 0;
}

function print(when: string, counts: SoakCounts, rest: string): boolean {
  const { requests, wrong, crossTalk, unexplained, failures, kills } = counts;
  console.log(`${when}: ${requests} requests, ${wrong} wrong, ${crossTalk} cross-talk, ${kills} kills, ${rest}`);
  for (const [name, count] of Object.entries(failures)) console.log(`  ${count} × ${name}`);
  return wrong + crossTalk + unexplained === 0;
}

/** Tells how many reloads there were since the last question, and how long the slowest took. */
function countReloads(child: StartedCommand["child"]): () => string {
  let durations: number[] = [];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    for (const [, ms] of text.matchAll(/"ms":(\d+)[^\n]*"msg":"hooks reloaded"/g)) durations.push(Number(ms));
  });
  return () => {
    const report = `${durations.length} reloads (${Math.max(0, ...durations)} ms at most)`;
    durations = [];
    return report;
  };
}

function memory(mb: number): string {
  return `PSS ${mb.toFixed(0)} MB`;
}
