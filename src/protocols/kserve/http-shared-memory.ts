import type { KserveEndpoint } from "./http-endpoint.ts";
import { assertAllRegions, SHARED_MEMORY_KINDS, type SharedMemoryKind } from "./shared-memory.ts";

/**
 * Calls about regions of shared memory, of which there are none. Triton's clients list and unregister regions before
 * any other call. There is no endpoint for registering.
 */
export const SHARED_MEMORY_ENDPOINTS: readonly KserveEndpoint[] = SHARED_MEMORY_KINDS.flatMap((kind) =>
  [`/v2/${kind}sharedmemory`, `/v2/${kind}sharedmemory/region/{region}`].flatMap((path) => endpointsOf(kind, path)),
);

function endpointsOf(kind: SharedMemoryKind, prefix: string): readonly KserveEndpoint[] {
  return [
    {
      method: "GET",
      kind: "read",
      path: `${prefix}/status`,
      summary: `List regions of ${kind} shared memory`,
      schemas: { answer: { type: "array", maxItems: 0 } },
      answer: async ({ region }) => {
        assertAllRegions(kind, region);
        return { contentType: "application/json", body: Buffer.from("[]") };
      },
    },
    {
      method: "POST",
      kind: "read",
      path: `${prefix}/unregister`,
      isEmpty: true,
      summary: `Unregister regions of ${kind} shared memory`,
      answer: async () => ({ contentType: "application/json", body: new Uint8Array(0) }),
    },
  ];
}
