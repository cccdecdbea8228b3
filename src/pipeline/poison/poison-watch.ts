import { ServingError } from "../../errors.ts";
import { onLostLater, wasCostly, wasLost } from "../../lost-process.ts";
import type { Logger } from "../../observability/logger.ts";
import type { InferResponse } from "../infer-request.ts";
import { PoisonGuard, type SentRequest } from "./poison-guard.ts";

/** Milliseconds between two looks for what can be forgotten. */
const LOOK_MS = 60_000;

/** Requests of a model that have ended what runs it. */
export interface PoisonCount {
  readonly model: string;
  /** Requests that were found to do so. */
  readonly quarantined: number;
  /** Requests that were refused: the same again, or others of the clients that sent them. */
  readonly refused: number;
}

/** Settings of a {@link PoisonWatch}. */
interface PoisonOptions {
  /** Requests that are remembered for each model; 0 = none. */
  readonly maxRequests: number;
  readonly log: Pick<Logger, "error" | "warn">;
}

/** Guards the models from requests that end the processes and threads that run them; knows nothing before the first. */
export class PoisonWatch {
  readonly #options: PoisonOptions;
  readonly #guards = new Map<string, PoisonGuard>();
  readonly #counts = new Map<string, { quarantined: number; refused: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PoisonOptions) {
    this.#options = options;
  }

  /** True while there is nothing to guard a model from. */
  get isCalm(): boolean {
    return this.#guards.size === 0;
  }

  /** Runs a request as {@link PoisonGuard.run}. */
  run(sent: SentRequest, run: () => Promise<InferResponse>): Promise<InferResponse> {
    const { limits } = sent.request.call;
    const guard = limits?.warmUp === undefined ? this.#guards.get(sent.model) : undefined;
    return guard === undefined ? run() : guard.run(sent, run);
  }

  /** Looks at the error of a request, which may have been lost with what ran it, now or after it was given up. */
  look(reason: unknown, sent: SentRequest): void {
    const { maxRequests } = this.#options;
    const { limits, signal } = sent.request.call;
    if (maxRequests === 0 || limits?.warmUp !== undefined) return;
    const details = reason instanceof ServingError ? reason.details : undefined;
    if (wasLost(details)) this.#guardOf(sent.model).lose(sent, wasCostly(details));
    else if (signal.aborted) this.#lookLater(signal, sent);
  }

  /** Without the inputs, whose memory no one counts any more. */
  #lookLater(signal: object, { model, request, bytes, client }: SentRequest): void {
    const { id } = request.call;
    const hash = this.#guards.get(model)?.hashOf(request);
    onLostLater(signal, (details) =>
      this.#guardOf(model).add({ id, bytes, client, hash, isCostly: wasCostly(details) }),
    );
  }

  /** Counts of the models that any such request was sent to. */
  counts(): readonly PoisonCount[] {
    return [...this.#counts].map(([model, count]) => ({ model, ...count }));
  }

  /** Forgets models that are not served any more. */
  forget(served: ReadonlySet<string>): void {
    for (const model of this.#counts.keys()) if (!served.has(model)) this.#counts.delete(model);
  }

  #guardOf(model: string): PoisonGuard {
    const known = this.#guards.get(model);
    if (known !== undefined) return known;
    const count = this.#counts.get(model) ?? { quarantined: 0, refused: 0 };
    this.#counts.set(model, count);
    const guard = new PoisonGuard({
      ...this.#options,
      model,
      onQuarantined: () => count.quarantined++,
      onRefused: () => count.refused++,
    });
    this.#guards.set(model, guard);
    this.#timer ??= setInterval(() => this.#forgetIdle(), LOOK_MS).unref();
    return guard;
  }

  #forgetIdle(): void {
    for (const [model, guard] of this.#guards) if (guard.isIdle) this.#guards.delete(model);
    if (this.#guards.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
