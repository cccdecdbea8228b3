import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { pssMb } from "../../test/helpers/process-usage.ts";

/** Resources of a server that has nothing to do, with those of the processes that it has started. */
export interface Holdings {
  /** Objects of all threads of the server, and memory outside of V8's heap that belongs to them. */
  readonly objectBytes: number;
  readonly pssBytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

const LOOKS = 2;
const SETTLE_MS = 150;
const WITHIN_MS = 20_000;

/** The least of a few readings, each after a collection of garbage; `file` is that of the server's instrument. */
export async function holdingsOf(pid: number, file: string): Promise<Holdings> {
  let least: Holdings | undefined;
  for (let look = 0; look < LOOKS; look++) {
    await wait(SETTLE_MS);
    const objectBytes = await collect(pid, file);
    const now = { objectBytes, ...sum(processesOf(pid).map(usageOf)) };
    least = least === undefined ? now : leastOf(least, now);
  }
  return least as Holdings;
}

async function collect(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  for (const end = performance.now() + WITHIN_MS; !existsSync(file); await wait(10))
    if (performance.now() > end) throw new Error(`the server did not collect its garbage within ${WITHIN_MS / 1000} s`);
  return JSON.parse(readFileSync(file, "utf8")).objectBytes;
}

/** A process and those that it has started, and those have; any thread may have started one. */
function processesOf(pid: number): number[] {
  const threads = unlessEnded(() => readdirSync(`/proc/${pid}/task`), []);
  const children = threads.flatMap((thread) => {
    const text = unlessEnded(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"), "");
    return text.split(" ").filter(Boolean);
  });
  return [pid, ...children.flatMap((child) => processesOf(Number(child)))];
}

function unlessEnded<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

type Usage = Omit<Holdings, "objectBytes">;

function usageOf(pid: number): Usage {
  const count = (kind: string) => unlessEnded(() => readdirSync(`/proc/${pid}/${kind}`).length, 0);
  return { pssBytes: unlessEnded(() => pssMb(pid), 0) * 2 ** 20, descriptors: count("fd"), threads: count("task") };
}

function sum(usages: readonly Usage[]): Usage {
  const total = (key: keyof Usage) => usages.reduce((all, usage) => all + usage[key], 0);
  return { pssBytes: total("pssBytes"), descriptors: total("descriptors"), threads: total("threads") };
}

function leastOf(one: Holdings, other: Holdings): Holdings {
  return {
    objectBytes: Math.min(one.objectBytes, other.objectBytes),
    pssBytes: Math.min(one.pssBytes, other.pssBytes),
    descriptors: Math.min(one.descriptors, other.descriptors),
    threads: Math.min(one.threads, other.threads),
  };
}

/** Growth per request that is more than noise, and the least that all of a half must have grown. */
const LIMITS = {
  objectBytes: { each: 8, all: 150 * 1024 },
  pssBytes: { each: 1024, all: 6 * 2 ** 20 },
  descriptors: { each: 0, all: 2 },
  threads: { each: 0, all: 2 },
} as const;

type Limits = Readonly<Record<keyof Holdings, { readonly each: number; readonly all: number }>>;

type Halves = readonly [Holdings, Holdings, Holdings];

/** Measurements of a kind that seems to grow: the code of a server that is young, or asked something new, grows too. */
const MEASUREMENTS = 3;

/** Holdings before, between and after two halves of the work, each of `count` requests; and those that grew in both. */
export async function measureHalves(
  first: Holdings,
  sendHalf: () => Promise<Holdings>,
  count: number,
  limits: Limits = LIMITS,
): Promise<{ readonly held: Halves; readonly grown: readonly string[] }> {
  let before = first;
  for (let measurement = 1; ; measurement++) {
    const held: Halves = [before, await sendHalf(), await sendHalf()];
    const grown = growing(held, count, limits);
    if (grown.length === 0 || measurement === MEASUREMENTS) return { held, grown };
    before = held[2];
  }
}

/** The holdings that grew in both halves of `count` requests each; empty where nothing leaks. */
function growing([first, middle, last]: Halves, count: number, limits: Limits): string[] {
  return (Object.keys(limits) as (keyof Holdings)[]).filter((key) => {
    const growth = Math.min(middle[key] - first[key], last[key] - middle[key]);
    return growth > limits[key].all && growth / count > limits[key].each;
  });
}

/** Growth of the halves, `first, second`: bytes each, and numbers in all. */
export function cellsOf([first, middle, last]: Halves, half: number): string[] {
  const growth = (key: keyof Holdings, per: number) =>
    [middle[key] - first[key], last[key] - middle[key]].map((bytes) => (bytes / per).toFixed(0)).join(", ");
  return [growth("objectBytes", half), growth("pssBytes", half), growth("descriptors", 1), growth("threads", 1)];
}
