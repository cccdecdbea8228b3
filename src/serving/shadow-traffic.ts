import { publicText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { copyPayload, payloadBytes } from "../pipeline/payload.ts";
import { limitsOfCopy, limitTime } from "../platform/limits/call-limits.ts";
import type { LoadedVersion, ShadowedModel } from "./catalog.ts";
import type { InferRequest, Lease } from "./inference-service.ts";
import { LocalLease, type ServiceLimits } from "./local-lease.ts";
import { usedNames } from "./request-names.ts";
import { requireSignature } from "./require-signature.ts";
import { type Shadow, targetText } from "./traffic.ts";

/** Time that a copied request may take if the server sets no limit, in milliseconds: no client waits for it. */
const TIMEOUT_MS = 60_000;
/** Size above which requests are not copied, since the time to copy would delay the answer. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Time between two log lines about the same shadow, in milliseconds. */
const LOG_MS = 10_000;

/**
 * Sends copies of requests to versions or models other than the answering one. Copies never take the place of other
 * requests, and no request waits for them.
 */
export class ShadowTraffic {
  readonly #limits: ServiceLimits;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #failures = new Map<string, { since: number; count: number }>();
  #underWay = 0;

  constructor(limits: ServiceLimits, log: Logger) {
    this.#limits = limits;
    this.#log = log;
    limits.admission.onClose(() =>
      this.#closing.abort(new ServingError("unavailable", "The server is shutting down.")),
    );
  }

  /** A lease whose request is copied when it runs. */
  shadowed(lease: Lease, model: ShadowedModel): Lease {
    return {
      description: lease.description,
      release: () => lease.release(),
      ...(lease.recordAs && { recordAs: (kind, request) => lease.recordAs?.(kind, request) }),
      infer: (request) => {
        // A copy of bytes would reach a function that the other may not have.
        if (request.raw === undefined) this.#copy(request, model);
        return lease.infer(request);
      },
    };
  }

  /** Copies before the request runs, since a run transfers its inputs; the copy begins after it. */
  #copy(request: InferRequest, model: ShadowedModel): void {
    if (!this.#hasRoom(model.target) || payloadBytes(request.inputs) > MAX_BYTES) return;
    const copied = { ...request, inputs: copyPayload(request.inputs) };
    this.#underWay++;
    setImmediate(() => void this.#run(copied, model));
  }

  /** At most half of the places are for copies and other requests together. */
  #hasRoom(target: LoadedVersion | undefined): boolean {
    const { admission, memory } = this.#limits;
    const places = admission.count + this.#underWay;
    return places < admission.maxCount / 2 && !memory.isHalfFull && !target?.places.isHalfFull;
  }

  async #run(request: InferRequest, { name, shadow, target }: ShadowedModel): Promise<void> {
    const limited = limitTime({ signal: this.#closing.signal }, this.#limits.requestTimeoutMs || TIMEOUT_MS);
    try {
      // It may have been unloaded since the request arrived.
      if (target?.servable === undefined)
        throw new ServingError("unavailable", "The version that gets the copies is not available.");
      await this.#infer(request, target, limited);
    } catch (reason) {
      if (!this.#closing.signal.aborted) this.#warn(name, shadow, reason);
    } finally {
      limited.clear();
      this.#underWay--;
    }
  }

  /** With the depth of a call from another model, which admission does not count. */
  async #infer(
    { inputs, outputs, signature, call }: InferRequest,
    target: LoadedVersion,
    limited: Limited,
  ): Promise<void> {
    const lease = new LocalLease(target, this.#limits);
    try {
      const { signal, limits } = limited;
      const ofRequest = { memory: undefined, record: undefined, timeline: undefined };
      const own = { ...call, ...ofRequest, limits: limitsOfCopy(call.limits, limits?.deadline), signal };
      const chosen = requireSignature(signature.name, lease.description, usedNames({ inputs, outputs }));
      await lease.infer({ signature: chosen, inputs, outputs, call: own });
    } finally {
      lease.release();
    }
  }

  #warn(model: string, shadow: Shadow, reason: unknown): void {
    const key = `${model}\0${targetText(shadow)}`;
    const now = performance.now();
    const before = this.#failures.get(key);
    if (before !== undefined && now - before.since < LOG_MS) {
      before.count++;
      return;
    }
    this.#failures.set(key, { since: now, count: 0 });
    const unlogged = before === undefined || before.count === 0 ? {} : { unlogged: before.count };
    const fields = { model, shadow: targetText(shadow), ...unlogged, err: reason };
    this.#log.warn(`a copied request failed: ${publicText(reason)}`, fields);
  }
}

type Limited = Pick<ReturnType<typeof limitTime>, "limits" | "signal">;
