import type { BenchTarget } from "../benchmark/bench-target.ts";
import { type Candidate, candidateText } from "./candidate.ts";
import { type Confirmation, confirmGain, isGain } from "./confirm-gain.ts";
import { bestTrial, nearestTrial, type Trial } from "./trial.ts";
import { type TrialContext, tryCandidate } from "./try-candidate.ts";
import { VARIATIONS } from "./variations.ts";

/** A search for the best way to serve a model. */
export interface Tuning extends TrialContext {
  /** Drivers to try, the default first. */
  readonly drivers: readonly string[];
  readonly cores: number;
  /** Time for all trials but the last check. */
  readonly seconds: number;
}

/** Outcome of a search. */
export interface TuningOutcome {
  /** In the order in which they were tried, the defaults first. */
  readonly trials: readonly Trial[];
  /** The defaults where the confirmation has not borne out another; undefined where nothing meets the goal. */
  readonly best: Trial | undefined;
  /** One that seemed best, measured again in turn with the defaults; absent where these are, or time was out. */
  readonly confirmation?: Confirmation;
  /** Candidates for which there was no time. */
  readonly untried: readonly Candidate[];
}

/**
 * Tries the drivers, then variations of the best, or of the nearest where none meets the goal; what is known so far
 * once its signal aborts or the time is over. Never rejects for a candidate.
 */
export async function runTuning(tuning: Tuning): Promise<TuningOutcome> {
  const { trials, untried, best } = await searchInTime(tuning);
  const [defaults] = trials;
  if (best === undefined || defaults === undefined || best === defaults || tuning.signal.aborted)
    return { trials, best, untried };
  const confirmation = await confirmGain(defaults, best, tuning);
  if (confirmation === undefined) return { trials, best, untried };
  return { trials, best: isGain(confirmation) ? best : defaults, untried, confirmation };
}

async function searchInTime(tuning: Tuning): Promise<Search> {
  const time = new AbortController();
  const end = () => time.abort();
  const timer = setTimeout(end, tuning.seconds * 1000);
  tuning.signal.addEventListener("abort", end);
  const search = new Search({ ...tuning, signal: time.signal });
  try {
    await search.tryAll(tuning.drivers.map((driver) => ({ driver, options: {} })));
    for (const vary of VARIATIONS) {
      const { best, nearest } = search;
      // Where one request at a time misses the goal, a batch of them does.
      const canBatch = search.canBatch && best !== undefined;
      const from = best ?? nearest;
      if (from !== undefined) await search.tryAll(vary(from.candidate, { cores: tuning.cores, canBatch }));
    }
    return search;
  } finally {
    clearTimeout(timer);
    tuning.signal.removeEventListener("abort", end);
  }
}

/** The trials of a search. */
class Search {
  readonly trials: Trial[] = [];
  readonly untried: Candidate[] = [];
  /** True where requests can be put together into a batch. */
  canBatch = false;
  readonly #context: TrialContext;
  readonly #known = new Set<string>();

  constructor(context: TrialContext) {
    this.#context = context;
  }

  get best(): Trial | undefined {
    return bestTrial(this.trials, this.#context.goal);
  }

  /** The one from which a goal that none meets is least far. */
  get nearest(): Trial | undefined {
    const { goal } = this.#context;
    return goal && nearestTrial(this.trials, goal);
  }

  async tryAll(candidates: readonly Candidate[]): Promise<void> {
    for (const candidate of candidates) {
      const name = candidateText(candidate);
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      const trial = this.#isOver ? undefined : await tryCandidate(candidate, this.#context, this.#onOpen);
      // One that the end of the time has cut short may have had no chance.
      if (trial === undefined || (this.#isOver && trial.levels.length === 0)) this.untried.push(candidate);
      else this.trials.push(trial);
    }
  }

  get #isOver(): boolean {
    return this.#context.signal.aborted;
  }

  readonly #onOpen = ({ hasOpenRows }: BenchTarget) => {
    this.canBatch = hasOpenRows;
  };
}
