import type { JsonObject } from "@bufbuild/protobuf";
import type { SharedMemory } from "../../shared-memory/shared-memory.ts";
import { listRegions, registerRegion, type SharedMemoryKind, unregisterRegions } from "./region-calls.ts";

/** A call about regions of shared memory, with messages in protobuf's JSON form. */
export type RegionCall = (request: JsonObject, regions: SharedMemory | undefined) => object;

/** Calls about regions of shared memory, by name. */
export const REGION_CALLS: Readonly<Record<string, RegionCall>> = {
  ...callsOf("system", "System"),
  ...callsOf("cuda", "Cuda"),
};

function callsOf(kind: SharedMemoryKind, prefix: string): Record<string, RegionCall> {
  return {
    [`${prefix}SharedMemoryStatus`]: ({ name }, regions) => {
      const found = listRegions(kind, String(name), regions);
      return { regions: Object.fromEntries(found.map((region) => [region.name, region])) };
    },
    [`${prefix}SharedMemoryRegister`]: ({ name, key, offset, byte_size: byteSize }, regions) => {
      // 64-bit integers are texts in this form.
      const sizes = { offset: BigInt(String(offset ?? 0)), byte_size: BigInt(String(byteSize)) };
      registerRegion(kind, String(name), new Map(Object.entries({ key: String(key), ...sizes })), regions);
      return {};
    },
    [`${prefix}SharedMemoryUnregister`]: ({ name }, regions) => {
      unregisterRegions(kind, String(name), regions);
      return {};
    },
  };
}
