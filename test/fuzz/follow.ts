import type { Random } from "../grpc/random.ts";
import type { Coverage } from "./coverage.ts";
import type { Decoder } from "./decoder.ts";
import { feed } from "./fuzz.ts";
import { costOf, type Growth, growthOf } from "./growth.ts";
import { keptInputs } from "./kept-inputs.ts";
import { shorten } from "./least-inputs.ts";
import { type Materials, toWords, vary } from "./vary.ts";

/** An input that a decoder failed for, and how. */
interface Finding {
  readonly what: string;
  readonly input: Buffer;
}

/** Results of following a decoder. */
export interface Followed {
  readonly name: string;
  readonly runs: number;
  /** Runs whose input was read although it was changed. */
  readonly taken: number;
  /** Branches that inputs have taken, and all of the sources that have one of them. */
  readonly reached: number;
  readonly branches: number;
  /** Inputs that did what none before has done, with the samples. */
  readonly corpus: readonly Buffer[];
  /** Microseconds for each byte of the input that costs most, measured again. */
  readonly slowestUs: number;
  readonly findings: readonly Finding[];
}

export interface FollowOptions {
  readonly random: Random;
  readonly coverage: Coverage;
  /** Asked before each run. */
  readonly isDone: (runs: number) => boolean;
  /** Called with each input before it is read, as it may end the process. */
  readonly note?: (input: Buffer) => void;
}

/** Most bytes of an input, unless a sample is longer. */
const MAX_BYTES = 8192;
const COSTLY = 3;
const LONGEST_TEXT = 2000;
const SHORTENING_RUNS = 64;
/** Inputs after which the words are looked for again, in what was reached meanwhile. */
const WORDS_AFTER = 64;
/** An input that is as short as one byte costs this much more. */
const LEAST_BYTES = 64;
/** Bytes of memory outside the heap that one input may take, which is more than all limits here. */
const MAX_TAKEN_BYTES = 64_000_000;

/** Changes what a decoder takes, goes on from what reaches new code, and looks how the costs of the costliest grow. */
export async function follow(decoder: Decoder, options: FollowOptions): Promise<Followed> {
  const follower = new Follower(decoder, options);
  return follower.run();
}

interface Costly {
  readonly input: Buffer;
  readonly cost: number;
}

class Follower {
  readonly #decoder: Decoder;
  readonly #options: FollowOptions;
  readonly #corpus: Buffer[] = [];
  readonly #findings = new Map<string, Finding>();
  readonly #bySteps: Costly[] = [];
  readonly #byTime: Costly[] = [];
  #runs = 0;
  #taken = 0;

  constructor(decoder: Decoder, options: FollowOptions) {
    this.#decoder = decoder;
    this.#options = options;
  }

  async run(): Promise<Followed> {
    const { name, samples, repair, maxMs } = this.#decoder;
    const { random, isDone, coverage } = this.#options;
    const seeds = [...samples, ...keptInputs(name)];
    for (const seed of seeds)
      if ((await this.#try(seed)) !== undefined || this.#corpus.length === 0) this.#corpus.push(seed);
    const maxBytes = Math.max(MAX_BYTES, ...seeds.map(({ length }) => 2 * length));
    let materials: Materials | undefined;
    while (!isDone(this.#runs)) {
      if (materials === undefined || this.#corpus.length - materials.others.length > WORDS_AFTER)
        materials = { others: [...this.#corpus], words: this.#words(), maxBytes };
      const changed = vary(this.#pick(random), random, materials);
      const input = repair !== undefined && random.below(4) > 0 ? repair(changed) : changed;
      const first = await this.#try(input);
      if (first === undefined) continue;
      this.#corpus.push(toOwn(first.length === 0 || maxMs !== undefined ? input : await this.#shorten(input, first)));
    }
    const slowestUs = await this.#measure();
    const reached = coverage.reached();
    return {
      ...{ name, runs: this.#runs, taken: this.#taken, corpus: this.#corpus, slowestUs },
      reached: reached.reduce((sum, { taken }) => sum + taken, 0),
      branches: reached.reduce((sum, { file }) => sum + file.branches, 0),
      findings: [...this.#findings.values()],
    };
  }

  /** The newest ones lead further; short ones are changed where it matters. */
  #pick(random: Random): Buffer {
    const all = this.#corpus;
    const [one, other] = [random.below(all.length), random.below(all.length)];
    const [first, second] = [all[Math.max(one, other)] as Buffer, all[Math.min(one, other)] as Buffer];
    return random.below(2) === 0 || first.length < second.length ? first : second;
  }

  #words(): Buffer[] {
    return toWords(new Set(["\0", ...this.#options.coverage.reached().flatMap(({ file }) => file.values)]));
  }

  /** Reads an input; resolves with the branches that none took before, if it did anything that none did before. */
  async #try(input: Buffer): Promise<readonly number[] | undefined> {
    const { coverage, note } = this.#options;
    note?.(input);
    this.#runs++;
    coverage.begin();
    const began = performance.now();
    try {
      if (await feed(this.#decoder, input)) this.#taken++;
    } catch (reason) {
      this.#fail(input, reason);
    }
    const ms = performance.now() - began;
    const { isNew, first, steps } = coverage.end();
    const bytes = input.length + LEAST_BYTES;
    keepCostly(this.#bySteps, { input, cost: steps / bytes });
    keepCostly(this.#byTime, { input, cost: ms / bytes });
    if (!isNew) return undefined;
    await this.#weigh(input);
    return first;
  }

  /** A short one is changed where it matters. */
  async #shorten(input: Buffer, first: readonly number[]): Promise<Buffer> {
    const { coverage, note } = this.#options;
    let left = SHORTENING_RUNS;
    const isAsGood = async (cut: Buffer) => {
      left--;
      note?.(cut);
      coverage.begin();
      await feed(this.#decoder, cut).catch(() => {});
      const branches = new Set(coverage.taken());
      return first.every((branch) => branches.has(branch));
    };
    return shorten(input, isAsGood, () => left <= 0);
  }

  /** Reads an input that is new once more, and looks at the memory. */
  async #weigh(input: Buffer): Promise<void> {
    const before = process.memoryUsage();
    await feed(this.#decoder, input).catch(() => {});
    const after = process.memoryUsage();
    const taken = after.external - before.external;
    if (taken > MAX_TAKEN_BYTES) this.#fail(input, new Error(`it took ${Math.round(taken / 1e6)} MB of memory`));
  }

  #fail(input: Buffer, reason: unknown): void {
    const what = textOf(reason);
    // One for each place that fails.
    const place = what.split("\n", 30).find((line) => line.startsWith("    at ")) ?? what;
    if (!this.#findings.has(place)) this.#findings.set(place, { what, input });
  }

  /** Measures the costliest inputs again, and longer ones made of each. */
  async #measure(): Promise<number> {
    const { note, random } = this.#options;
    const run = async (input: Buffer) => {
      note?.(input);
      await feed(this.#decoder, input).catch(() => {});
    };
    const cost = (input: Buffer) => costOf(() => run(input));
    let slowestUs = 0;
    for (const { input } of new Set([...this.#byTime, ...this.#bySteps])) {
      slowestUs = Math.max(slowestUs, (1000 * (await cost(input))) / (input.length + LEAST_BYTES));
      if (this.#decoder.maxMs !== undefined) continue;
      const growth = await growthOf(input, random, cost);
      if (growth !== undefined) this.#fail(growth.input, new Error(toText(growth)));
    }
    return slowestUs;
  }
}

/** In memory of its own: a short buffer holds the piece that many have a part of. */
function toOwn(input: Buffer): Buffer {
  const own = Buffer.alloc(input.length);
  input.copy(own);
  return own;
}

/** A failure's message, without the input that may be part of it, and where it came from. */
export function textOf(reason: unknown): string {
  const { cause, message } = reason as Error;
  if (cause === undefined) return message.replace(/ for the base64 .*$/s, "");
  return (cause as Error).stack?.slice(0, LONGEST_TEXT) ?? String(cause);
}

function keepCostly(all: Costly[], one: Costly): void {
  if (all.length === COSTLY && one.cost <= (all.at(-1) as Costly).cost) return;
  all.push(one);
  all.sort((first, second) => second.cost - first.cost);
  if (all.length > COSTLY) all.pop();
}

function toText({ costs, input }: Growth): string {
  const ms = costs.map((cost) => cost.toFixed(0)).join(", ");
  return `the time grows faster than the length: ${ms} ms, each for twice the bytes, up to ${input.length}`;
}
