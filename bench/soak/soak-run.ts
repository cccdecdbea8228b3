import type { Asking, Command } from "./asking.ts";
import { Numbers, oracle, Refused, type Verdict } from "./numbered-request.ts";
import type { StartedNumbers, Whereabouts } from "./started-numbers.ts";

/** Counts since the last report. */
export interface SoakCounts {
  readonly requests: number;
  readonly wrong: number;
  readonly crossTalk: number;
  /** Requests that were not answered, by status and by where they were. */
  readonly failures: Readonly<Record<string, number>>;
  /** Failures that no killed thread explains. */
  readonly unexplained: number;
  readonly kills: number;
}

/** Requests under way. */
const LOOPS = 24;
/** A way to ask, with how many values, and how often of a hundred times. */
interface Part {
  readonly way:
    | "overGrpc"
    | "overRest"
    | "overPredictJson"
    | "laneOverGrpc"
    | "laneOverRest"
    | "streamOverGrpc"
    | "streamOverHttp";
  readonly size: number;
  readonly weight: number;
}

/** Requests to hooks. */
export const HOOK_MIX: readonly Part[] = [
  { way: "overGrpc", size: 16, weight: 46 },
  { way: "overRest", size: 16, weight: 22 },
  { way: "overPredictJson", size: 16, weight: 22 },
  { way: "overGrpc", size: 20_000, weight: 4 },
  { way: "overGrpc", size: 150_000, weight: 2 },
  { way: "overRest", size: 5_000, weight: 2 },
  { way: "overPredictJson", size: 5_000, weight: 2 },
];
/** As many to a model without hooks; PredictJSON names no model, so that a server of two cannot be asked by it. */
export const LANE_MIX: readonly Part[] = [
  ...HOOK_MIX.filter(({ way }) => way !== "overPredictJson"),
  { way: "laneOverGrpc", size: 16, weight: 40 },
  { way: "laneOverRest", size: 16, weight: 36 },
];
/** Half of the requests are answered in parts. */
export const STREAM_MIX: readonly Part[] = [
  ...HOOK_MIX.filter(({ way }) => way !== "overPredictJson"),
  { way: "streamOverGrpc", size: 16, weight: 46 },
  { way: "streamOverHttp", size: 16, weight: 26 },
  { way: "streamOverGrpc", size: 20_000, weight: 4 },
];
/** Has no common divisor with the number of requests of a mix, so that all of them come. */
const STEP = 37;

/** Asks without pause, and oracles every answer. */
export class SoakRun {
  readonly #asking: Asking;
  readonly #started: StartedNumbers;
  readonly #wheel: readonly Omit<Part, "weight">[];
  readonly #numbers = new Numbers();
  readonly #killers = new Set<number>();
  #verdicts: Record<Verdict, number> = { right: 0, wrong: 0, "cross-talk": 0 };
  #refused: { number: number; status: string; message: string; isHooked: boolean }[] = [];
  #kills = 0;
  /** Told of each right answer. */
  readonly #onRight = new Set<() => void>();
  #goesOn = false;
  #loops: Promise<void>[] = [];

  constructor(asking: Asking, started: StartedNumbers, mix = HOOK_MIX) {
    this.#wheel = mix.flatMap(({ weight, ...kind }) => Array.from({ length: weight }, () => kind));
    this.#asking = asking;
    this.#started = started;
    this.goOn();
  }

  /** Asks again after {@link finish}. */
  goOn(): void {
    this.#goesOn = true;
    this.#loops = Array.from({ length: LOOPS }, (_, index) => this.#loop(index * 7));
  }

  /** Makes the thread that gets this request end, or hang; `inParts`: one of the model that answers in parts. */
  kill(command: Command, inParts = false): void {
    const number = this.#numbers.next();
    this.#killers.add(number);
    this.#kills++;
    const ended = this.#asking.command(number, command, inParts);
    this.#loops.push(ended.catch((reason) => this.#note(number, reason, true)));
  }

  /** Generators that have begun in a thread that was not killed, and have not ended. */
  unended(): number {
    return this.#started.unended(this.#killers);
  }

  /** Resolves after so many more right answers. */
  rightAnswers(count: number): Promise<void> {
    return new Promise((resolve) => {
      let left = count;
      const tell = () => {
        if (--left > 0) return;
        this.#onRight.delete(tell);
        resolve();
      };
      this.#onRight.add(tell);
    });
  }

  /** Asks no more, and lets what is under way end. */
  async finish(): Promise<void> {
    this.#goesOn = false;
    await Promise.all(this.#loops);
  }

  /** Counts, and begins again. */
  report(): SoakCounts {
    const refused = this.#refused;
    const places = this.#started.find(
      refused.map(({ number }) => number),
      this.#killers,
    );
    const failures: Record<string, number> = {};
    let unexplained = 0;
    for (const [index, { number, status, message, isHooked }] of refused.entries()) {
      const place = this.#killers.has(number) ? "the kill itself" : (places[index] as Whereabouts);
      const isExplained = isHooked && status === "UNAVAILABLE" && place !== "in a living thread";
      const name = `${status} ${place}${isExplained ? "" : ` (${message})`}`;
      failures[name] = (failures[name] ?? 0) + 1;
      if (!isExplained) unexplained++;
    }
    const { right, wrong, "cross-talk": crossTalk } = this.#verdicts;
    const counts = { requests: right + wrong + crossTalk + refused.length, wrong, crossTalk, failures, unexplained };
    const report = { ...counts, kills: this.#kills };
    this.#verdicts = { right: 0, wrong: 0, "cross-talk": 0 };
    this.#refused = [];
    this.#kills = 0;
    return report;
  }

  async #loop(start: number): Promise<void> {
    for (let turn = start; this.#goesOn; turn++) {
      const { way, size } = this.#wheel[(turn * STEP) % this.#wheel.length] as Part;
      await this.#ask(way, size);
    }
  }

  async #ask(way: Part["way"], size: number): Promise<void> {
    const number = this.#numbers.next();
    try {
      const verdict = oracle(number, size, await this.#asking[way](number, size));
      this.#verdicts[verdict]++;
      if (verdict === "right") for (const tell of [...this.#onRight]) tell();
    } catch (reason) {
      this.#note(number, reason, !way.startsWith("lane"));
    }
  }

  /** A hook that finds another request's values says so in its error. */
  #note(number: number, reason: unknown, isHooked: boolean): void {
    const { status, message } = reason instanceof Refused ? reason : { status: "no answer", message: String(reason) };
    if (message.includes("cross-talk")) this.#verdicts["cross-talk"]++;
    this.#refused.push({ number, status, message, isHooked });
  }
}
