import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { pssMb } from "../../test/helpers/process-usage.ts";

/** Resources of a server that has nothing to do. */
export interface Holdings {
  /** Objects of the main thread, and memory outside of V8's heap that belongs to them. */
  readonly objectBytes: number;
  readonly pssBytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

const LOOKS = 3;
const SETTLE_MS = 250;
const WITHIN_MS = 20_000;

/** The least of a few readings, each after a collection of garbage; `file` is that of the server's instrument. */
export async function holdingsOf(pid: number, file: string): Promise<Holdings> {
  let least: Holdings | undefined;
  for (let look = 0; look < LOOKS; look++) {
    await wait(SETTLE_MS);
    const now = { objectBytes: await collect(pid, file), pssBytes: pssMb(pid) * 2 ** 20, ...countsOf(pid) };
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

function countsOf(pid: number): Pick<Holdings, "descriptors" | "threads"> {
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, threads: readdirSync(`/proc/${pid}/task`).length };
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

/** The holdings that grew in both halves of `count` requests each; empty where nothing leaks. */
export function growing(
  [first, middle, last]: readonly [Holdings, Holdings, Holdings],
  count: number,
  limits: Limits = LIMITS,
): string[] {
  return (Object.keys(limits) as (keyof Holdings)[]).filter((key) => {
    const growth = Math.min(middle[key] - first[key], last[key] - middle[key]);
    return growth > limits[key].all && growth / count > limits[key].each;
  });
}
