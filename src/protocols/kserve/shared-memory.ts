import { ServingError } from "../../errors.ts";

/** The kinds of shared memory of which clients may register regions, and their names in Triton's texts and gRPC calls. */
export const SHARED_MEMORY_KINDS = ["system", "cuda"] as const;

/** One of {@link SHARED_MEMORY_KINDS}. */
export type SharedMemoryKind = (typeof SHARED_MEMORY_KINDS)[number];

/**
 * Checks that the status of all regions was asked for (an empty name), of which there are none; throws `not_found`, with
 * Triton's text, for a region by name.
 */
export function assertAllRegions(kind: SharedMemoryKind, region: string): void {
  if (region === "") return;
  throw new ServingError(
    "not_found",
    `Unable to find ${kind} shared memory region: '${region}'. This server has no shared-memory regions.`,
  );
}

/** The error for a region that a client registers. */
export function noSharedMemory(): ServingError {
  return new ServingError(
    "unimplemented",
    "This server has no shared-memory regions; send tensors in raw_input_contents, or over HTTP as binary data.",
  );
}
