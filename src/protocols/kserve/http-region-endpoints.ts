import { jsonAnswer } from "../text-answer.ts";
import type { KserveEndpoint } from "./http-endpoint.ts";
import { toParameters } from "./http-request.ts";
import { REGION_SCHEMAS, REGISTER_SCHEMAS } from "./openapi-schemas.ts";
import { readObject } from "./read-object.ts";
import {
  listRegions,
  registerRegion,
  SHARED_MEMORY_KINDS,
  type SharedMemoryKind,
  unregisterRegions,
} from "./region-calls.ts";

/**
 * Calls about regions of shared memory. Clients that may run models may register regions: it changes only where their
 * tensors are.
 */
export const REGION_ENDPOINTS: readonly KserveEndpoint[] = SHARED_MEMORY_KINDS.flatMap((kind) => [
  ...[`/v2/${kind}sharedmemory`, regionPath(kind)].flatMap((path) => endpointsOf(kind, path)),
  {
    method: "POST",
    kind: "inference",
    path: `${regionPath(kind)}/register`,
    isEmpty: true,
    summary: `Register a region of ${kind} shared memory`,
    schemas: REGISTER_SCHEMAS,
    answer: async ({ region, exchange, sharedMemory }) => {
      registerRegion(kind, region, toParameters(await readObject(exchange)), sharedMemory);
      return NOTHING;
    },
  },
]);

const NOTHING = { contentType: "application/json", body: new Uint8Array(0) };

function regionPath(kind: SharedMemoryKind): string {
  return `/v2/${kind}sharedmemory/region/{region}`;
}

function endpointsOf(kind: SharedMemoryKind, prefix: string): readonly KserveEndpoint[] {
  return [
    {
      method: "GET",
      kind: "read",
      path: `${prefix}/status`,
      summary: `List regions of ${kind} shared memory`,
      schemas: REGION_SCHEMAS,
      answer: async ({ region, sharedMemory }) => jsonAnswer(listRegions(kind, region, sharedMemory)),
    },
    {
      method: "POST",
      kind: "inference",
      path: `${prefix}/unregister`,
      isEmpty: true,
      summary: `Unregister regions of ${kind} shared memory`,
      answer: async ({ region, sharedMemory }) => {
        unregisterRegions(kind, region, sharedMemory);
        return NOTHING;
      },
    },
  ];
}
