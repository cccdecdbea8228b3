import { type RunStatistics, sumStatistics } from "../models/queue/run-statistics.ts";
import { Histogram, type HistogramData, SECONDS_BOUNDS } from "../observability/metrics/histogram.ts";
import { sumThreads, type ThreadStates } from "../observability/thread-states.ts";
import { type HookTimes, sumHookTimes } from "../pipeline/hook-times.ts";

/** Statistics of requests as a whole, and in the models. */
export interface ServableStatistics {
  readonly requests: RequestStatistics;
  readonly runs: RunStatistics;
  /** True if runs of one of its models answer several requests. */
  readonly isBatched: boolean;
  /** Times of its hooks. */
  readonly hooks: readonly HookTimes[];
  readonly threads: ServableThreads;
  /** Milliseconds that the last load of its models took. */
  readonly loadMs: number;
}

/** Threads of one servable. */
interface ServableThreads {
  readonly hook: ThreadStates;
  /** A model that shares its thread counts the shared thread as its own. */
  readonly model: ThreadStates;
}

/** Times and counts of the requests of one servable; times in milliseconds, since it was loaded. */
export interface RequestStatistics {
  readonly succeeded: CountedTime;
  readonly failed: CountedTime;
  /** Time at which the last request ended, in milliseconds since the epoch; 0 = none did. */
  readonly lastRequest: number;
  /** Absent = no request was answered in parts. */
  readonly parts?: PartStatistics;
}

/** Ends of answers in parts: all parts were given, the client left, an error, a limit of time. */
export const STREAM_ENDS = ["server", "client", "error", "deadline"] as const;

/** One of {@link STREAM_ENDS}. */
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** Answers in parts of one servable. */
interface PartStatistics {
  readonly parts: number;
  /** Answers under way. */
  readonly open: number;
  readonly ended: Readonly<Record<StreamEnd, number>>;
  /** Time in which clients took parts of answers that the server ended, in milliseconds. */
  readonly takenMs: number;
  /** Seconds from the admission of a request until its first part. */
  readonly firstTimes: HistogramData;
  /** Seconds from the moment that a client could take another part until that came. */
  readonly betweenTimes: HistogramData;
  /** Each {@link PlaceStatistics} of the first parts of answers, {@link MAX_PLACES} at most. */
  readonly places: readonly PlaceStatistics[];
}

/** The parts that were the n-th of their answers. An end without a part is one too. */
export interface PlaceStatistics {
  /** Times until they came. */
  readonly made: CountedTime;
  /** Times from then until they were sent. */
  readonly sent: CountedTime;
  readonly succeeded: CountedTime;
  readonly failed: CountedTime;
  /** Ends of answers in place of a part. */
  readonly empty: CountedTime;
  /** Those that a client or a limit of time did not wait for. */
  readonly cancelled: CountedTime;
}

/** A number of requests, and their total time. */
interface CountedTime {
  readonly count: number;
  readonly ms: number;
}

/** Places among the parts of an answer that are told apart: an answer may have any number of parts. */
const MAX_PLACES = 256;

/** {@link PlaceStatistics} that grow. */
type PlaceCounts = { readonly [Name in keyof PlaceStatistics]: { count: number; ms: number } };

/** Counts the answers in parts of one servable. */
class PartCounter {
  readonly #ended = { server: 0, client: 0, error: 0, deadline: 0 };
  readonly #first = new Histogram(SECONDS_BOUNDS);
  readonly #between = new Histogram(SECONDS_BOUNDS);
  readonly #places: PlaceCounts[] = [];
  #parts = 0;
  #open = 0;
  #takenMs = 0;

  /** Counts an answer that begins. */
  begin(): void {
    this.#open++;
  }

  /** Counts a part that has come, by the number of those before it. */
  came(place: number, waitMs: number): void {
    this.#parts++;
    const times = place === 0 ? this.#first : this.#between;
    times.observe(waitMs / 1000);
  }

  /** Counts a part that came and was sent. */
  sent(place: number, waitMs: number, sendMs: number): void {
    const counts = this.#at(place);
    if (counts === undefined) return;
    count(counts.made, waitMs);
    count(counts.sent, sendMs);
    count(counts.succeeded, waitMs + sendMs);
  }

  /** Counts an end, by the number of parts that were sent, how long that took altogether, and the time since. */
  end({ place, takenMs }: { readonly place: number; readonly takenMs: number }, by: StreamEnd, waitMs: number): void {
    this.#open--;
    if (by === "server") this.#takenMs += takenMs;
    this.#ended[by]++;
    const counts = this.#at(place);
    if (counts === undefined) return;
    const isCancelled = by === "client" || by === "deadline";
    if (!isCancelled) count(counts.made, waitMs);
    count(isCancelled ? counts.cancelled : by === "server" ? counts.empty : counts.failed, waitMs);
  }

  statistics(): PartStatistics {
    return {
      parts: this.#parts,
      open: this.#open,
      ended: { ...this.#ended },
      takenMs: this.#takenMs,
      firstTimes: this.#first,
      betweenTimes: this.#between,
      places: this.#places,
    };
  }

  #at(place: number): PlaceCounts | undefined {
    if (place < MAX_PLACES) this.#places[place] ??= newPlace();
    return this.#places[place];
  }
}

function newPlace(): PlaceCounts {
  const none = () => ({ count: 0, ms: 0 });
  return { made: none(), sent: none(), succeeded: none(), failed: none(), empty: none(), cancelled: none() };
}

function count(counted: { count: number; ms: number }, ms: number): void {
  counted.count++;
  counted.ms += ms;
}

/** Counts the requests of one servable. */
export class RequestCounter {
  readonly #succeeded = { count: 0, ms: 0 };
  readonly #failed = { count: 0, ms: 0 };
  #parts: PartCounter | undefined;
  #lastEnd = 0;

  /** Counts its answers in parts; made with the first of them. */
  get parts(): PartCounter {
    this.#parts ??= new PartCounter();
    return this.#parts;
  }

  /** End of the last request, on the clock of performance.now(); 0 = none has ended. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  /** Counts an ended request, which began at `started` on the clock of performance.now(). */
  add(started: number, isSuccess: boolean): void {
    this.#lastEnd = performance.now();
    count(isSuccess ? this.#succeeded : this.#failed, this.#lastEnd - started);
  }

  statistics(): RequestStatistics {
    const lastRequest = this.#lastEnd === 0 ? 0 : Date.now() - Math.round(performance.now() - this.#lastEnd);
    const parts = this.#parts && { parts: this.#parts.statistics() };
    return { succeeded: { ...this.#succeeded }, failed: { ...this.#failed }, lastRequest, ...parts };
  }
}

interface Counted {
  statistics(): Promise<ServableStatistics>;
}

/** Threads that were lost, of those that are gone. */
const lostOnly = ({ lost }: ThreadStates): ThreadStates => ({ ready: 0, missing: 0, lost });

/** Statistics of a servable that outlive its unloading. */
export class PastStatistics {
  #runs: RunStatistics = sumStatistics([]);
  #hooks: readonly HookTimes[] = [];
  /** Counters go on when threads end. */
  #threads = { hook: sumThreads([]), model: sumThreads([]) };

  /** Keeps what a servable has counted, which is about to be unloaded. */
  async keep(loaded: Counted): Promise<void> {
    const { runs, hooks, threads } = await loaded.statistics();
    this.#hooks = sumHookTimes([...this.#hooks, ...hooks]);
    this.#runs = sumStatistics([this.#runs, runs]);
    this.#threads = this.#threadsWith({ hook: lostOnly(threads.hook), model: lostOnly(threads.model) });
  }

  /** Statistics of everything kept, and of the servable that is loaded now. */
  async sumWith(loaded: Counted | undefined): Promise<Pick<ServableStatistics, "runs" | "hooks" | "threads">> {
    const now = await loaded?.statistics();
    const runs = now === undefined ? this.#runs : sumStatistics([this.#runs, now.runs]);
    const hooks = sumHookTimes([...this.#hooks, ...(now?.hooks ?? [])]);
    return { runs, hooks, threads: now === undefined ? this.#threads : this.#threadsWith(now.threads) };
  }

  #threadsWith({ hook, model }: ServableStatistics["threads"]): ServableStatistics["threads"] {
    return { hook: sumThreads([this.#threads.hook, hook]), model: sumThreads([this.#threads.model, model]) };
  }
}

/**
 * Total time that successful requests neither waited for a model, nor ran in one, nor for a client to take parts, in
 * milliseconds.
 */
export interface PreparationTimes {
  /** Hooks before the models, image decoding, checks, and the transfer between threads. */
  readonly inputMs: number;
  /** The hooks after the models. */
  readonly outputMs: number;
}

/**
 * Splits the time that requests did not spend in models; the part that cannot be
 * attributed counts as preparation of inputs.
 */
export function preparationTimes({
  requests,
  runs,
  hooks,
}: Pick<ServableStatistics, "requests" | "runs" | "hooks">): PreparationTimes {
  const takenMs = requests.parts?.takenMs ?? 0;
  const restMs = Math.max(0, requests.succeeded.ms - takenMs - runs.queueMs - runs.runMs);
  const after = hooks.filter(({ hook }) => hook === "postprocess");
  const outputMs = Math.min(restMs, 1000 * after.reduce((sum, { times }) => sum + times.sum, 0));
  return { inputMs: restMs - outputMs, outputMs };
}
