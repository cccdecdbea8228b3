/** A way to choose the pod of a request: the one with the fewest requests, any, or that of its client's connection. */
export type Balancing = "least" | "random" | "connections";

/** Load on pods that are alike. */
export interface Scenario {
  readonly pods: number;
  /** Requests that a pod works on at a time; the others wait. */
  readonly parallel: number;
  /** Times of a request's work: measured ones, each of them as likely, or the mean of an exponential distribution. */
  readonly serviceMs: number | readonly number[];
  /** Requests per second for all pods, which come at random. */
  readonly rate: number;
  readonly balancing: Balancing;
  /** Connections of `connections`, each of them with one pod for good. Default: three for each pod. */
  readonly connections?: number;
  /** Number of requests. Default: 100 000. */
  readonly requests?: number;
  readonly seed?: number;
}

/** Latencies of the requests, and the share of time in which the busiest pod worked. */
export interface Prediction {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly busiest: number;
}

const REQUESTS = 100_000;
/** Draws a number from 0 to 1. */
type Random = () => number;
const CONNECTIONS_PER_POD = 3;

/** Lets requests come to pods one after the other; the same scenario has the same outcome. */
export function simulate(scenario: Scenario): Prediction {
  const { pods, parallel, serviceMs, rate, requests = REQUESTS, seed = 1 } = scenario;
  const random = randomNumbers(seed);
  const nextServiceMs = typeof serviceMs === "number" ? exponential(serviceMs, random) : anyOf(serviceMs, random);
  const nextPauseMs = exponential(1000 / rate, random);
  const all = Array.from({ length: pods }, () => new Pod(parallel));
  const choose = chooser(scenario, all, random);
  const latencies = new Float64Array(requests);
  let nowMs = 0;
  for (let index = 0; index < requests; index += 1) {
    nowMs += nextPauseMs();
    latencies[index] = choose(nowMs).serve(nowMs, nextServiceMs()) - nowMs;
  }
  latencies.sort();
  const at = (share: number) => latencies[Math.floor(share * requests)] as number;
  const busiest = Math.max(...all.map(({ workMs }) => workMs)) / (nowMs * parallel);
  return { p50Ms: at(0.5), p99Ms: at(0.99), busiest };
}

/** A pod that works in the order of arrival. */
class Pod {
  workMs = 0;
  /** Times at which its places are free. */
  readonly #freeMs: number[];

  constructor(parallel: number) {
    this.#freeMs = Array.from({ length: parallel }, () => 0);
  }

  /** Time at which the work ends. */
  serve(nowMs: number, workMs: number): number {
    const place = this.#freeMs.indexOf(Math.min(...this.#freeMs));
    const endMs = Math.max(nowMs, this.#freeMs[place] as number) + workMs;
    this.#freeMs[place] = endMs;
    this.workMs += workMs;
    return endMs;
  }

  /** Time for which a request would wait now. */
  waitMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.#freeMs) - nowMs);
  }
}

function chooser({ balancing, connections }: Scenario, pods: readonly Pod[], random: Random) {
  const any = anyOf(pods, random);
  if (balancing === "random") return any;
  if (balancing === "least")
    return (nowMs: number) => {
      // Two at random are as good as all, and what clients and proxies do.
      const [one, other] = [any(), any()];
      return one.waitMs(nowMs) <= other.waitMs(nowMs) ? one : other;
    };
  const kept = Array.from({ length: connections ?? CONNECTIONS_PER_POD * pods.length }, any);
  return anyOf(kept, random);
}

/** Draws numbers of an exponential distribution. */
export function exponential(mean: number, random: Random): () => number {
  return () => -mean * Math.log(1 - random());
}

/** Draws elements, each as likely. */
function anyOf<T>(elements: readonly T[], random: Random): () => T {
  return () => elements[Math.floor(random() * elements.length)] as T;
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomNumbers(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
