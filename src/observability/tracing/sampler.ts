import { failedPrecondition } from "../../errors.ts";
import type { TraceSampling } from "../request-tracer.ts";
import type { ParentContext } from "../trace-context.ts";
import type { Environment } from "./settings.ts";

/** The cells of a sampler's memory, and their bytes: the part takes two. */
const [ON, LEFT, BYTES] = [2, 3, 16];
/** Stands for a number without limit. */
const UNLIMITED = 2 ** 31 - 1;

/**
 * Decides which traces are recorded: part of those that begin here, and of those that clients began what their clients
 * record, or by the same part. What may be changed is in memory that the threads share which begin traces.
 */
export class Sampler implements TraceSampling {
  readonly firstRatio: number;
  readonly shared: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #ratio: Float64Array<SharedArrayBuffer>;
  readonly #followsParent: boolean;

  /** `shared`: the memory of another thread's sampler of the same settings. */
  constructor(ratio: number, followsParent: boolean, shared?: SharedArrayBuffer) {
    this.firstRatio = ratio;
    this.#followsParent = followsParent;
    this.shared = shared ?? new SharedArrayBuffer(BYTES);
    this.#cells = new Int32Array(this.shared);
    this.#ratio = new Float64Array(this.shared, 0, 1);
    if (shared !== undefined) return;
    this.isOn = true;
    this.ratio = ratio;
    this.left = Number.POSITIVE_INFINITY;
  }

  get isOn(): boolean {
    return Atomics.load(this.#cells, ON) === 1;
  }

  set isOn(isOn: boolean) {
    Atomics.store(this.#cells, ON, isOn ? 1 : 0);
  }

  get ratio(): number {
    return this.#ratio[0] as number;
  }

  set ratio(ratio: number) {
    this.#ratio[0] = ratio;
  }

  get left(): number {
    const left = Atomics.load(this.#cells, LEFT);
    return left === UNLIMITED ? Number.POSITIVE_INFINITY : Math.max(0, left);
  }

  set left(count: number) {
    Atomics.store(this.#cells, LEFT, Math.min(count, UNLIMITED));
  }

  /** Checks if a trace may be recorded, by its id: servers of the same part choose the same traces. */
  chooses(traceId: string, parent: ParentContext | undefined): boolean {
    if (!this.isOn || this.left <= 0) return false;
    if (parent !== undefined && this.#followsParent) return parent.isSampled;
    return Number.parseInt(traceId.slice(...RANDOM_DIGITS), 16) < this.ratio * 2 ** 52;
  }

  /** Counts a request that is recorded; false if there are enough. */
  take(): boolean {
    return Atomics.load(this.#cells, LEFT) === UNLIMITED || Atomics.sub(this.#cells, LEFT, 1) > 0;
  }
}

/** Digits of a trace id that are random by W3C Trace Context, as many of them as a number can have. */
const RANDOM_DIGITS = [18, 31] as const;

/** Names of OTEL_TRACES_SAMPLER that are known, without `parentbased_`. */
const NAMES = ["always_on", "always_off", "traceidratio"];

/**
 * The sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; throws `failed_precondition` for one that is unknown.
 */
export function readSampler(
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Environment,
  shared?: SharedArrayBuffer,
): Sampler {
  const { parent, root = "" } =
    /^(?<parent>parentbased_)?(?<root>.*)$/.exec((name || "parentbased_always_on").toLowerCase())?.groups ?? {};
  if (!NAMES.includes(root)) {
    const known = NAMES.flatMap((one) => [one, `parentbased_${one}`]).join(", ");
    throw failedPrecondition(`OTEL_TRACES_SAMPLER is "${name}"; expected ${known}.`);
  }
  const part = root === "traceidratio" ? readRatio(ratio || undefined) : root === "always_on" ? 1 : 0;
  return new Sampler(part, parent !== undefined, shared);
}

function readRatio(text = "1"): number {
  const ratio = Number(text);
  if (text.trim() !== "" && ratio >= 0 && ratio <= 1) return ratio;
  throw failedPrecondition(`OTEL_TRACES_SAMPLER_ARG is "${text}"; expected a number from 0 to 1.`);
}
