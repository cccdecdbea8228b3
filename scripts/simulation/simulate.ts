/** A way to choose the pod of a request: the one with the fewest requests, any, or that of its client's connection. */
export type Balancing = "least" | "random" | "connections";

/** Load on pods that are alike. */
export interface Scenario {
  readonly pods: number;
  /** Requests that a pod works on at a time; the others wait. */
  readonly parallel: number;
  /** Mean time of a request's work, exponentially distributed. */
  readonly serviceMs: number;
  /** Requests per second for all pods, which come at random. */
  readonly rate: number;
  readonly balancing: Balancing;
  /** Connections of `connections`, each of them with one pod for good. Default: three for each pod. */
  readonly connections?: number;
  readonly seed?: number;
}

/** Latencies of the requests, and the share of time in which the busiest pod worked. */
export interface Prediction {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly busiest: number;
}

const REQUESTS = 100_000;
const CONNECTIONS_PER_POD = 3;

/** Lets requests come to pods one after the other; the same scenario has the same outcome. */
export function simulate(scenario: Scenario): Prediction {
  const { pods, parallel, serviceMs, rate, seed = 1 } = scenario;
  const random = randomNumbers(seed);
  const exponential = (mean: number) => -mean * Math.log(1 - random());
  const all = Array.from({ length: pods }, () => new Pod(parallel));
  const choose = chooser(scenario, all, random);
  const latencies = new Float64Array(REQUESTS);
  let nowMs = 0;
  for (let index = 0; index < REQUESTS; index += 1) {
    nowMs += exponential(1000 / rate);
    latencies[index] = choose(nowMs).serve(nowMs, exponential(serviceMs)) - nowMs;
  }
  latencies.sort();
  const at = (share: number) => latencies[Math.floor(share * REQUESTS)] as number;
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

function chooser({ balancing, connections }: Scenario, pods: readonly Pod[], random: () => number) {
  const any = () => pods[Math.floor(random() * pods.length)] as Pod;
  if (balancing === "random") return any;
  if (balancing === "least")
    return (nowMs: number) => {
      // Two at random are as good as all, and what clients and proxies do.
      const [one, other] = [any(), any()];
      return one.waitMs(nowMs) <= other.waitMs(nowMs) ? one : other;
    };
  const kept = Array.from({ length: connections ?? CONNECTIONS_PER_POD * pods.length }, any);
  return () => kept[Math.floor(random() * kept.length)] as Pod;
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
