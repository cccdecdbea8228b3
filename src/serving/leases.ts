import type { Logger } from "../observability/logger.ts";
import type { Catalog, LoadedVersion } from "./catalog.ts";
import type { InferRequest, InferResponse, Lease, ModelRef } from "./inference-service.ts";
import { inputKey } from "./input-key.ts";
import { KeptVersion } from "./kept-version.ts";
import { LocalLease, type ServiceLimits } from "./local-lease.ts";
import type { RecordedKind, RecordedMessage, Recording } from "./request-log.ts";
import { usedNames } from "./request-names.ts";
import type { RequestRecorder } from "./request-recorder.ts";
import { requireSignature } from "./require-signature.ts";
import type { ServableDescription } from "./servable-description.ts";
import { ShadowTraffic } from "./shadow-traffic.ts";
import type { RoutedRequest } from "./traffic.ts";

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
