import type { LoadedVersion } from "./catalog.ts";
import type { Lease } from "./inference-service.ts";
import { LocalLease, type ServiceLimits } from "./local-lease.ts";
import type { ServableDescription } from "./servable-description.ts";

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
