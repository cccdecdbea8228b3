import { publicText, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import { UNREAD_PARTS } from "../pipeline/infer-request.ts";
import { inputKey } from "../pipeline/input-key.ts";
import { copyPayload, payloadBytes } from "../pipeline/payload.ts";
import { limitsOfCopy, limitTime } from "../platform/limits/call-limits.ts";
import type { Catalog, LoadedVersion, ShadowedModel } from "./catalog.ts";
import type { InferRequest, InferResponse, Lease, ModelRef } from "./inference-service.ts";
import { LocalLease, type ServiceLimits } from "./local-lease.ts";
import type { RecordedKind, RecordedMessage, Recording } from "./request-log.ts";
import { usedNames } from "./request-names.ts";
import type { RequestRecorder } from "./request-recorder.ts";
import { requireSignature } from "./require-signature.ts";
import type { ServableDescription } from "./servable-description.ts";
import { type RoutedRequest, type Shadow, targetText } from "./traffic.ts";

/** Time that a copied request may take if the server sets no limit, in milliseconds: no client waits for it. */
const TIMEOUT_MS = 60_000;
/** Size above which requests are not copied, since the time to copy would delay the answer. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Time between two log lines about the same shadow, in milliseconds. */
const LOG_MS = 10_000;

/** Creates the leases of requests, and adds shadow copies and recording to them. */
export class Leases {
  readonly #catalog: Catalog;
  readonly #limits: ServiceLimits;
  readonly #shadows: ShadowTraffic;
  readonly #recorder: RequestRecorder | undefined;

  constructor(
    catalog: Catalog,
    limits: ServiceLimits,
    { recorder, log }: { readonly recorder?: RequestRecorder; readonly log: Logger },
  ) {
    this.#catalog = catalog;
    this.#limits = limits;
    this.#shadows = new ShadowTraffic(limits, log);
    this.#recorder = recorder;
  }

  /**
   * The version that every request with this reference gets; undefined if that is decided for each request, or
   * requests are recorded. Throws as the catalog does.
   */
  keep(ref: ModelRef): KeptVersion | undefined {
    const version = this.#catalog.resolve(ref);
    const model = this.#catalog.get(version.model);
    const named = this.#catalog.get(this.#catalog.nameOf(ref.model));
    const isPlain = ref.label === undefined && named?.traffic === undefined && model === named;
    if (!isPlain || this.#recorder?.mayRecord(model?.requestLog) === true) return undefined;
    return new KeptVersion(version, this.#limits);
  }

  /** The lease for a request, or for a description without one; throws as the catalog does. */
  acquire(ref: ModelRef, request?: RoutedRequest): Lease {
    if (request === undefined) return new LocalLease(this.#catalog.resolve(ref), this.#limits);
    if (request.ignoresTraffic) return this.#recorded(new LocalLease(this.#catalog.resolve(ref), this.#limits), ref);
    const names = this.#catalog.stickyInputs(ref);
    if (names !== undefined) return this.#acquireByInputs(ref, request, names);
    const version = this.#catalog.resolve(ref, request);
    const own = new LocalLease(version, this.#limits);
    const shadowed = this.#catalog.shadowOf(ref);
    const isCopied = shadowed !== undefined && shadowed.target !== version;
    return this.#recorded(isCopied ? this.#shadows.shadowed(own, shadowed) : own, ref);
  }

  /** The inputs are known once they have been checked, against the version that most requests are routed to. */
  #acquireByInputs(ref: ModelRef, request: RoutedRequest, names: readonly string[] | "all"): Lease {
    const choose = ({ inputs }: InferRequest) =>
      this.#catalog.resolve(ref, { metadata: request.metadata, inputKey: inputKey(inputs, names) });
    const open = (version: LoadedVersion) => this.#recorded(new LocalLease(version, this.#limits), ref);
    const described = new LocalLease(this.#catalog.resolve(ref), this.#limits);
    const lease = new RoutedLease(described, { choose, open, mayRecord: this.#recorder !== undefined });
    const shadowed = this.#catalog.shadowOf(ref);
    return shadowed === undefined ? lease : this.#shadows.shadowed(lease, shadowed);
  }

  #recorded(lease: Lease, ref: ModelRef): Lease {
    if (this.#recorder === undefined) return lease;
    const options = this.#catalog.get(lease.description.model)?.requestLog;
    return this.#recorder.recorded(lease, { ref, options, memory: this.#limits.memory });
  }
}

/** Choice of a request's version, and its lease, which records the request if that is wanted. */
interface Routing {
  choose(request: InferRequest): LoadedVersion;
  open(version: LoadedVersion): Lease;
  /** False if nothing is recorded. */
  readonly mayRecord: boolean;
}

/**
 * A lease whose version is chosen once the inputs of its request are known; until then it describes the target with the
 * greatest weight.
 */
class RoutedLease implements Lease {
  readonly description: ServableDescription;
  readonly recordAs?: NonNullable<Lease["recordAs"]>;
  readonly #lease: Lease;
  readonly #routing: Routing;
  readonly #chosen: Lease[] = [];
  /** The request in its protocol's own form, for the version that will answer. */
  #own: readonly [RecordedKind, RecordedMessage] | undefined;
  #recording: Recording | undefined;

  constructor(lease: Lease, routing: Routing) {
    this.description = lease.description;
    this.#lease = lease;
    this.#routing = routing;
    if (routing.mayRecord) this.recordAs = (...own) => this.#recordLater(own);
  }

  async infer(request: InferRequest): Promise<InferResponse> {
    const { choose, open } = this.#routing;
    const chosen = open(choose(request));
    this.#chosen.push(chosen);
    const recording = this.#own && chosen.recordAs?.(...this.#own);
    this.#recording ??= recording;
    const signature = requireSignature(request.signature.name, chosen.description, usedNames(request));
    return chosen.infer({ ...request, signature });
  }

  release(): void {
    this.#lease.release();
    for (const chosen of this.#chosen.splice(0)) chosen.release();
  }

  #recordLater(own: readonly [RecordedKind, RecordedMessage]): Recording {
    this.#own = own;
    return { finish: (response) => this.#recording?.finish(response) };
  }
}

/**
 * Sends copies of requests to versions or models other than the answering one. Copies never take the place of other
 * requests, and no request waits for them.
 */
class ShadowTraffic {
  readonly #limits: ServiceLimits;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** Of the shadows that there are: control calls may name others again and again. */
  readonly #failures = new WeakMap<Shadow, { since: number; count: number }>();
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
    { inputs, outputs, signature, parts, call }: InferRequest,
    target: LoadedVersion,
    limited: Limited,
  ): Promise<void> {
    const lease = new LocalLease(target, this.#limits);
    try {
      const { signal, limits } = limited;
      const ofRequest = { memory: undefined, record: undefined, timeline: undefined };
      const own = { ...call, ...ofRequest, limits: limitsOfCopy(call.limits, limits?.deadline), signal };
      const chosen = requireSignature(signature.name, lease.description, usedNames({ inputs, outputs }));
      await lease.infer({ signature: chosen, inputs, outputs, parts: parts && UNREAD_PARTS, call: own });
    } finally {
      lease.release();
    }
  }

  #warn(model: string, shadow: Shadow, reason: unknown): void {
    const now = performance.now();
    const before = this.#failures.get(shadow);
    if (before !== undefined && now - before.since < LOG_MS) {
      before.count++;
      return;
    }
    this.#failures.set(shadow, { since: now, count: 0 });
    const unlogged = before === undefined || before.count === 0 ? {} : { unlogged: before.count };
    const fields = { model, shadow: targetText(shadow), ...unlogged, err: reason };
    this.#log.warn(`a copied request failed: ${publicText(reason)}`, fields);
  }
}

type Limited = Pick<ReturnType<typeof limitTime>, "limits" | "signal">;

/**
 * A version that another thread keeps to check requests by its description, until it is told of a change: it is not
 * freed before, though a version without requests may be unloaded until the next one.
 */
export class KeptVersion {
  readonly description: ServableDescription;
  readonly #version: Pick<LoadedVersion, "servable" | "places">;
  readonly #limits: ServiceLimits;
  #isReleased = false;

  constructor({ servable, places }: LoadedVersion, limits: ServiceLimits) {
    // What answers now: the version may be loaded again, and has another one then.
    this.#version = { servable, places };
    this.#limits = limits;
    this.description = servable.description;
    servable.leases.keep();
  }

  /** A lease for one request. */
  lease(): Lease {
    return new LocalLease(this.#version, this.#limits);
  }

  /** Lets the version be freed. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#version.servable.leases.letGo();
  }
}
