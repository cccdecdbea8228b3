import { invalidArgument, ServingError } from "../../errors.ts";
import type { MemoryRegion } from "../../platform/shared-memory/memory-region.ts";
import type { SharedMemory } from "../../platform/shared-memory/shared-memory.ts";
import { type Parameters, readInteger } from "./parameters.ts";

/**
 * The kinds of shared memory of which clients may register regions, and their names in Triton's texts and gRPC calls.
 */
export const SHARED_MEMORY_KINDS = ["system", "cuda"] as const;

/** One of {@link SHARED_MEMORY_KINDS}. */
export type SharedMemoryKind = (typeof SHARED_MEMORY_KINDS)[number];

/** The regions of a server; undefined if it has none, as it does unless it is asked to. */
type Regions = SharedMemory | undefined;

/** A region, as answers list it. */
export interface RegionFacts extends Pick<MemoryRegion, "name" | "key" | "offset"> {
  readonly byte_size: number;
}

/**
 * The region of a name, or all of them for an empty name; throws `not_found`, with Triton's texts, for an unknown one.
 */
export function listRegions(kind: SharedMemoryKind, name: string, regions: Regions): readonly RegionFacts[] {
  if (name === "") return kind === "system" ? (regions?.all() ?? []).map(toFacts) : [];
  const found = regions?.find(name);
  if (found === undefined) throw notFound(`Unable to find ${kind} shared memory region: '${name}'`);
  if (kind === "system") return [toFacts(found)];
  throw notFound(`The region named '${name}' is registered as system shared memory, not CUDA shared memory`);
}

/** Registers a region by its `key`, `offset` and `byte_size`; throws, with Triton's texts, if it cannot be used. */
export function registerRegion(kind: SharedMemoryKind, name: string, facts: Parameters, regions: Regions): void {
  const memory = assertEnabled(regions);
  if (kind === "cuda") throw noCudaMemory();
  const key = facts.get("key");
  if (typeof key !== "string") throw invalidArgument("Shared memory register request has no 'key' field");
  const byteSize = readInteger(facts, "byte_size");
  if (byteSize === undefined) throw invalidArgument("Shared memory register request has no 'byte_size' field");
  memory.register({ name, key, offset: readInteger(facts, "offset") ?? 0n, byteSize });
}

/** Unregisters the region of a name, or all of them for an empty name. */
export function unregisterRegions(kind: SharedMemoryKind, name: string, regions: Regions): void {
  const memory = assertEnabled(regions);
  if (kind === "cuda") return;
  if (name === "") memory.unregisterAll();
  else memory.unregister(name);
}

function toFacts({ name, key, offset, byteSize }: MemoryRegion): RegionFacts {
  return { name, key, offset, byte_size: byteSize };
}

function notFound(message: string): ServingError {
  return new ServingError("not_found", message);
}

/** Triton's clients and tests know this text. */
function assertEnabled(regions: Regions): SharedMemory {
  if (regions !== undefined) return regions;
  throw new ServingError(
    "unimplemented",
    "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
  );
}

function noCudaMemory(): ServingError {
  return new ServingError(
    "unimplemented",
    "This server takes no CUDA shared memory: its models get their inputs in the machine's own memory. Register system shared memory, or send tensors in messages.",
  );
}
