import type { LoadedVersion } from "./catalog.ts";
import type { InferRequest, InferResponse, Lease } from "./inference-service.ts";
import type { RecordedKind, RecordedMessage, Recording } from "./request-log.ts";
import { usedNames } from "./request-names.ts";
import { requireSignature } from "./require-signature.ts";
import type { ServableDescription } from "./servable-description.ts";

/** Choice of a request's version, and its lease, which records the request where that is wanted. */
export interface Routing {
  choose(request: InferRequest): LoadedVersion;
  open(version: LoadedVersion): Lease;
  /** False where nothing is recorded. */
  readonly mayRecord: boolean;
}

/**
 * A lease whose version is chosen once the inputs of its request are known; until then it describes the target with the
 * greatest weight.
 */
export class RoutedLease implements Lease {
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
