import type { LoadedVersion } from "./catalog.ts";
import type { InferRequest, Lease } from "./inference-service.ts";
import { LocalLease, type ServiceLimits } from "./local-lease.ts";
import { requireSignature } from "./require-signature.ts";

/**
 * A lease whose version is chosen once the inputs of its request are known; until then it describes the target with the
 * greatest weight.
 */
export function routedLease(
  lease: Lease,
  choose: (request: InferRequest) => LoadedVersion,
  limits: ServiceLimits,
): Lease {
  return {
    description: lease.description,
    release: () => lease.release(),
    infer: async (request) => {
      const chosen = new LocalLease(choose(request), limits);
      try {
        const signature = requireSignature(request.signature.name, chosen.description);
        return await chosen.infer({ ...request, signature });
      } finally {
        chosen.release();
      }
    },
  };
}
