import { failedPrecondition } from "../errors.ts";
import type { ParentContext } from "../observability/trace-context.ts";
import type { TraceSampling } from "../observability/trace-sampling.ts";
import type { Environment } from "./settings.ts";

/** Decides which traces are recorded: part of those that begin here, and of those that clients began what their clients record, or by the same part. */
export class Sampler implements TraceSampling {
  isOn = true;
  ratio: number;
  left = Number.POSITIVE_INFINITY;
  readonly firstRatio: number;
  readonly #followsParent: boolean;

  constructor(ratio: number, followsParent: boolean) {
    this.ratio = ratio;
    this.firstRatio = ratio;
    this.#followsParent = followsParent;
  }

  /** Checks if a trace is recorded, by its id: servers of the same part choose the same traces. */
  takes(traceId: string, parent: ParentContext | undefined): boolean {
    if (!this.isOn || this.left <= 0 || !this.#chooses(traceId, parent)) return false;
    this.left--;
    return true;
  }

  #chooses(traceId: string, parent: ParentContext | undefined): boolean {
    if (parent !== undefined && this.#followsParent) return parent.isSampled;
    return Number.parseInt(traceId.slice(...RANDOM_DIGITS), 16) < this.ratio * 2 ** 52;
  }
}

/** Digits of a trace id that are random by W3C Trace Context, as many of them as a number can have. */
const RANDOM_DIGITS = [18, 31] as const;

/** Names of OTEL_TRACES_SAMPLER that are known, without `parentbased_`. */
const NAMES = ["always_on", "always_off", "traceidratio"];

/** The sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; throws `failed_precondition` for one that is unknown. */
export function readSampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Environment): Sampler {
  const { parent, root = "" } =
    /^(?<parent>parentbased_)?(?<root>.*)$/.exec(name || "parentbased_always_on")?.groups ?? {};
  if (!NAMES.includes(root)) {
    const known = NAMES.flatMap((one) => [one, `parentbased_${one}`]).join(", ");
    throw failedPrecondition(`OTEL_TRACES_SAMPLER is "${name}"; expected ${known}.`);
  }
  const part = root === "traceidratio" ? readRatio(ratio) : root === "always_on" ? 1 : 0;
  return new Sampler(part, parent !== undefined);
}

function readRatio(text = "1"): number {
  const ratio = Number(text);
  if (text.trim() !== "" && ratio >= 0 && ratio <= 1) return ratio;
  throw failedPrecondition(`OTEL_TRACES_SAMPLER_ARG is "${text}"; expected a number from 0 to 1.`);
}
