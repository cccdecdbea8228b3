/**
 * Lets the Nth call of the system fail, for every kind of call and every N of a clean run, on small tasks of the built
 * server: `npm run check -- faults`, with `--sample` the first, the middle and the last of each. What has to come of it
 * is an answer, an error, or an exit code other than 0 with a message, with no more descriptors and memory than
 * without; and the next start in the same folders, without faults, has to answer right, and leaves no other files in
 * the caches. Needs Linux and gcc.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Answer, type Driven, type Place, SCENARIOS, type Scenario } from "./faults/scenarios.ts";

const { EMFILE, EIO, ENOSPC, ENOMEM, EAGAIN, ETIMEDOUT } = constants.errno;
/** Kinds of calls in the order of interpose.c, and the error that each fails with. */
const KINDS = [
  ["open", EMFILE],
  ["read", EIO],
  ["write", ENOSPC],
  ["rename", EIO],
  ["mmap", ENOMEM],
  ["fork", EAGAIN],
  ["connect", ETIMEDOUT],
  ["ftruncate", ENOSPC],
  ["fsync", EIO],
  ["thread", EAGAIN],
] as const;
const RIGHT = "2.5";
/** A start may wait for the first sign of a process, and begin again. */
const [START_MS, ANSWER_MS, END_MS] = [90_000, 30_000, 30_000];
const COMMON = [
  ...["--host=127.0.0.1", "--port=0", "--http-port=0", "--drain-timeout=2"],
  ...["--load-retries=1", "--load-retry-interval=0.1"],
];
/** Runs at a time. */
const LANES = 3;
/** Scenarios of a sample. */
const SAMPLE = ["isolated model", "download"];
/** Descriptors more than before that are no leak: connections of the runner, folders that are looked at. */
const SPARE = 4;
/** Time in which they are given back, and between two looks. */
const [SETTLE_MS, LOOK_MS] = [5000, 100];
/** Memory more than before that is no leak: heaps are collected at any time. */
const SPARE_MB = 64;
/** Times that more memory is measured again, each beside a run without the fault. */
const MEASURED_AGAIN = 2;

const isSample = process.argv.includes("--sample");
const every = Number(/^--every=(\d+)$/.exec(process.argv.find((word) => word.startsWith("--every=")) ?? "")?.[1] ?? 1);
const only = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const scratch = mkdtempSync(join(tmpdir(), "kserving-faults-"));
const library = join(scratch, "interpose.so");
execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, "scripts/faults/interpose.c", "-ldl"]);

interface Fault {
  readonly kind: number;
  readonly at: number;
}

interface Outcome {
  readonly counts: readonly number[];
  readonly wasHit: boolean;
  readonly answer: Answer;
  readonly descriptors: number;
  /** The server's own memory, which it shares with no process. */
  readonly memoryMb: number;
  /** Files in its caches at its end. */
  readonly cached: readonly string[];
  readonly problems: readonly string[];
}

const archive = execFileSync("tar", ["-czC", "test/fixtures/models", "half-plus-two.onnx"]);
const web = createServer((_, response) => response.end(archive)).listen(0, "127.0.0.1");
await once(web, "listening");
const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/m.tar.gz`;

/** One start, task and end. Waits for a while for no more than `most` descriptors. */
async function run(scenario: Scenario, place: Place, fault?: Fault, most = Number.POSITIVE_INFINITY): Promise<Outcome> {
  const state = `${place.folder}.state`;
  writeFileSync(state, new Uint8Array(4096));
  const server = startServer(scenario.prepare(place), { place, state, fault });
  const http = await within(START_MS, Promise.race([server.ready, server.closed.then(() => undefined)]));
  const problems = http === LATE ? ["the start hangs"] : [];
  const given = typeof http === "string" ? await drive(scenario, { http, pid: server.pid, place }) : 0;
  if (given === LATE) problems.push("a request hangs");
  if (typeof given === "string" && !given.includes(RIGHT) && server.isRunning())
    problems.push(`wrong answer: ${given.slice(0, 200)}`);
  const pid = serverOf(server.pid, server.isSupervised);
  const descriptors = await settledDescriptors(pid, most);
  const memoryMb = readMemoryMb(pid);
  server.kill("SIGTERM");
  const exit = await within(END_MS, server.closed);
  server.kill("SIGKILL");
  if (exit === LATE) problems.push("it does not end");
  else if (typeof http !== "string" && exit === 0) problems.push("it ends with 0 before it served");
  else if (exit !== 0 && server.output() === "") problems.push(`it ends with ${exit} and no message`);
  const cached = filesIn(join(place.folder, "cache"));
  return { ...readState(state), answer: given === LATE ? 0 : given, descriptors, memoryMb, cached, problems };
}

interface Started {
  readonly place: Place;
  readonly state: string;
  readonly fault: Fault | undefined;
}

function startServer(flags: readonly string[], { place, state, fault }: Started) {
  const env = {
    ...process.env,
    ...(fault !== undefined && {
      LC_FAULTS_KIND: String(fault.kind),
      LC_FAULTS_AT: String(fault.at),
      LC_FAULTS_ERRNO: String(KINDS[fault.kind]![1]),
    }),
    LC_FAULTS_STATE: state,
    LC_FAULTS_FOLDER: place.folder,
    LD_PRELOAD: library,
    KSERVING_SHUTDOWN_DELAY: "0",
  };
  const isSupervised = flags.includes("--supervisor");
  const own = isSupervised ? [] : ["--no-supervisor"];
  const child = spawn(process.execPath, ["bin/kserving.cjs", ...COMMON, ...flags, ...own], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ready = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const line = /^\{.*"msg":"ready".*\}$/m.exec(output)?.[0];
        if (line !== undefined) resolve(JSON.parse(line).http);
      });
  });
  return {
    pid: child.pid as number,
    isSupervised,
    ready,
    closed: once(child, "close").then(([code, signal]) => (signal ?? code) as number | string),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    output: () => output.trim(),
  };
}

/** The answer; the text of an error where there is none. */
function drive(scenario: Scenario, server: Omit<Driven, "post">): Promise<Answer | typeof LATE> {
  const driven = scenario.drive({ ...server, post: (path, body) => ask(`${server.http}${path}`, body) });
  return within(
    ANSWER_MS,
    driven.catch(() => 0),
  );
}

const LATE = Symbol("late");

async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, ms, LATE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function ask(address: string, body: unknown): Promise<Answer> {
  const headers = { connection: "close" };
  const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return response.ok ? text : response.status;
}

/** A thread of hooks that were replaced may still be ending. */
async function settledDescriptors(pid: number, most: number): Promise<number> {
  for (const end = performance.now() + SETTLE_MS; ; await wait(LOOK_MS)) {
    const count = countDescriptors(pid);
    if (count <= most || performance.now() > end) return count;
  }
}

function countDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The supervisor's child, which serves; 0 if there is none. */
function serverOf(pid: number, isSupervised: boolean): number {
  if (!isSupervised) return pid;
  try {
    return Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"), 10) || 0;
  } catch {
    return 0;
  }
}

function readMemoryMb(pid: number): number {
  try {
    const kb = /^Pss_Anon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
    return Number(kb ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function filesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
}

function readState(path: string): { readonly counts: readonly number[]; readonly wasHit: boolean } {
  const bytes = Buffer.alloc(8 * (KINDS.length + 1));
  const file = openSync(path, "r");
  readSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
  const numbers = Array.from({ length: KINDS.length + 1 }, (_, index) => Number(bytes.readBigInt64LE(8 * index)));
  return { counts: numbers.slice(0, KINDS.length), wasHit: numbers.at(-1) === 1 };
}

let runs = 0;

function newPlace(): Place {
  const folder = join(scratch, `run-${runs++}`);
  mkdirSync(folder);
  return { folder, archive: url };
}

/** Megabytes that a fault costs, at least: heaps are collected at any time, but a leak is in each run. */
async function measureGrowth(scenario: Scenario, fault: Fault, grownMb: number): Promise<number> {
  let least = grownMb;
  for (let count = 0; count < MEASURED_AGAIN && least > SPARE_MB; count++) {
    const [place, cleanPlace] = [newPlace(), newPlace()];
    const faulted = await run(scenario, place, fault);
    const clean = await run(scenario, cleanPlace);
    if (faulted.memoryMb > 0) least = Math.min(least, faulted.memoryMb - clean.memoryMb);
    for (const { folder } of [place, cleanPlace]) rmSync(folder, { recursive: true, force: true });
  }
  return least;
}

/** A fault, and the start after it. */
async function tryFault(scenario: Scenario, fault: Fault, clean: Outcome): Promise<string> {
  const place = newPlace();
  const outcome = await run(scenario, place, fault, clean.descriptors + SPARE);
  const problems = [...outcome.problems];
  const leaked = outcome.descriptors - clean.descriptors;
  if (leaked > SPARE) problems.push(`${leaked} descriptors more than without a fault`);
  const grownMb = await measureGrowth(scenario, fault, outcome.memoryMb - clean.memoryMb);
  if (grownMb > SPARE_MB) problems.push(`${Math.round(grownMb)} MB more than without a fault`);
  if (outcome.wasHit) {
    const after = await run(scenario, place);
    const left = after.cached.filter((name) => !clean.cached.includes(name));
    if (left.length > 0) problems.push(`the caches have ${left.slice(0, 5)}`);
    if (typeof after.answer !== "string" || !after.answer.includes(RIGHT))
      problems.push(`the next start answers ${after.answer}`);
    problems.push(...after.problems.map((problem) => `next start: ${problem}`));
  }
  rmSync(place.folder, { recursive: true, force: true });
  const name = `${scenario.name}: ${KINDS[fault.kind]![0]} ${fault.at}`;
  for (const problem of problems) console.log(`WRONG ${name}: ${problem}`);
  if (problems.length > 0) failures.push(name);
  if (!outcome.wasHit) return "not reached";
  if (typeof outcome.answer === "string") return "answer";
  return outcome.answer === 0 ? "ended" : "error";
}

/** The calls that fail, of so many. */
function chosenOf(count: number): readonly number[] {
  if (isSample) return count === 0 ? [] : [...new Set([1, Math.ceil(count / 2), count])];
  return Array.from({ length: Math.ceil(count / every) }, (_, index) => 1 + index * every);
}

const failures: string[] = [];

async function tryScenario(scenario: Scenario): Promise<void> {
  const clean = await run(scenario, newPlace());
  if (typeof clean.answer !== "string" || clean.problems.length > 0)
    throw new Error(`${scenario.name} fails without a fault: ${clean.answer} ${clean.problems}`);
  if (clean.descriptors === 0 || clean.memoryMb === 0)
    throw new Error(`${scenario.name}: the server's descriptors and memory cannot be read`);
  const faults = clean.counts.flatMap((count, kind) => chosenOf(count).map((at) => ({ kind, at })));
  const outcomes = new Map<string, number>();
  const lane = async () => {
    for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
      const outcome = await tryFault(scenario, fault, clean);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const calls = KINDS.flatMap(([name], kind) => (clean.counts[kind] ? `${name} ${clean.counts[kind]}` : []));
  console.log(`${scenario.name} (${calls.join(", ")}): ${[...outcomes].map(([what, n]) => `${n} ${what}`).join(", ")}`);
}

const chosen = only.length === 0 && isSample ? SAMPLE : only;
for (const scenario of SCENARIOS)
  if (chosen.length === 0 || chosen.includes(scenario.name)) await tryScenario(scenario);
web.close();
rmSync(scratch, { recursive: true, force: true });
console.log(failures.length === 0 ? "all held" : `${failures.length} did not hold`);
process.exitCode = failures.length === 0 ? 0 : 1;
