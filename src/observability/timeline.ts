import { type Interval, type IntervalKind, isInterval, MAX_LINKS } from "./interval.ts";
import { steadyMs } from "./steady-clock.ts";
import { newSpanId, type SpanContext } from "./trace-context.ts";

/** Facts that some intervals have. */
export type IntervalFacts = Partial<Pick<Interval, "stage" | "name" | "code" | "id" | "links">>;

/** A timeline for another thread, which has one itself for its own events. */
export interface PlainTimeline {
  /** The span that the timeline belongs to, in a trace that is recorded. */
  readonly span?: SpanContext | undefined;
}

/** Intervals of one request that are kept; a hook may ask models as often as it likes. */
const MAX_INTERVALS = 512;

/** Records the parts of one request as they happen, if their times are wanted. */
export class Timeline {
  /** The span that its parts belong to; absent = they are not traced. */
  readonly span: SpanContext | undefined;
  readonly #intervals: Interval[];
  readonly #stage: number;
  readonly #depth: number;
  #waitsSince: number | undefined;
  /** Id of the hook that runs now, of which all that happens is a part. */
  #current: string | undefined;

  constructor({ span }: PlainTimeline = {}, stage = 0, depth = 0, intervals: Interval[] = []) {
    this.span = span;
    this.#stage = stage;
    this.#depth = depth;
    this.#intervals = intervals;
  }

  /** The parts so far, in the order in which they ended. */
  get intervals(): readonly Interval[] {
    return this.#intervals;
  }

  /** The same for the parts of a stage. */
  at(stage: number): Timeline {
    return new Timeline({ span: this.currentSpan }, stage, this.#depth, this.#intervals);
  }

  /** The same for what another model of the server does as a part of an interval, whose id is given. */
  inside(id: string | undefined): Timeline {
    const span = this.span && id !== undefined ? { ...this.span, spanId: id } : this.span;
    return new Timeline({ span }, 0, this.#depth + 1, this.#intervals);
  }

  /** The span of the hook that runs now, else its own. */
  get currentSpan(): SpanContext | undefined {
    return this.span && this.#current !== undefined ? { ...this.span, spanId: this.#current } : this.span;
  }

  /** A new id for an interval that other spans are to know; undefined if nothing is traced. */
  newId(): string | undefined {
    return this.span && newSpanId();
  }

  /** Makes a hook, by its interval's id, the one that runs now; undefined = none does. */
  enter(id: string | undefined): void {
    this.#current = id;
  }

  /** Adds a part that has ended. */
  add(kind: IntervalKind, start: number, end = steadyMs(), facts: IntervalFacts = {}): void {
    if (this.#intervals.length >= MAX_INTERVALS) return;
    const parent = this.span && this.currentSpan?.spanId;
    this.#intervals.push({ kind, stage: this.#stage, depth: this.#depth, start, end, parent, ...facts });
  }

  /** Notes that the request waits for a hook thread from now on, unless it does already. */
  beginWait(): void {
    this.#waitsSince ??= steadyMs();
  }

  /** Adds the wait for a hook thread, which began at `end`. */
  endWait(end: number): void {
    if (this.#waitsSince !== undefined && end >= this.#waitsSince) this.add("wait", this.#waitsSince, end);
  }

  /** The timeline for another thread. */
  toPlain(): PlainTimeline {
    return { span: this.currentSpan };
  }

  /** Adds the intervals that another thread recorded for this one; anything else is left out. */
  merge(intervals: unknown): void {
    if (!Array.isArray(intervals)) return;
    const parent = this.currentSpan?.spanId;
    for (const one of intervals.slice(0, MAX_INTERVALS - this.#intervals.length)) {
      if (!isInterval(one)) continue;
      const stage = one.stage || this.#stage;
      this.#intervals.push({ ...one, stage, depth: this.#depth + one.depth, parent: one.parent ?? parent });
    }
  }
}

/** Takes down the runs of a batch for all its requests; each is linked to the others. */
export class BatchTimeline extends Timeline {
  readonly #all: readonly Timeline[];

  constructor(all: readonly Timeline[]) {
    super();
    this.#all = all;
  }

  override add(kind: IntervalKind, start: number, end = steadyMs(), facts: IntervalFacts = {}): void {
    const ids = this.#all.map((timeline) => timeline.newId());
    const spans = this.#all.map(({ span }, index) => span && { ...span, spanId: ids[index]! });
    for (const [index, timeline] of this.#all.entries()) {
      const others =
        timeline.span && spans.filter((span, at) => at !== index && span !== undefined).slice(0, MAX_LINKS);
      const links = others as readonly SpanContext[] | undefined;
      timeline.add(kind, start, end, { ...facts, id: ids[index], links });
    }
  }
}
