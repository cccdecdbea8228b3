import { invalidArgument } from "../../errors.ts";
import type { MemoryPlace } from "../../platform/shared-memory/shared-memory.ts";
import { type Parameters, readInteger } from "./parameters.ts";

const REGION = "shared_memory_region";
const OFFSET = "shared_memory_offset";
const BYTE_SIZE = "shared_memory_byte_size";

/**
 * The place in shared memory that the parameters of an input or output (`tensor`, its name) state; undefined where they
 * state none. Throws `invalid_argument`, with Triton's texts, for a part of them.
 */
export function readPlace(parameters: Parameters, tensor: string): MemoryPlace | undefined {
  if (parameters.size === 0) return undefined;
  const region = parameters.get(REGION);
  if (region === undefined) {
    const stray = [OFFSET, BYTE_SIZE].find((name) => parameters.has(name));
    if (stray === undefined) return undefined;
    throw invalidArgument(`'${stray}' can not be specified without '${REGION}' parameter for tensor '${tensor}'`);
  }
  if (typeof region !== "string")
    throw invalidArgument(
      `invalid value type for '${REGION}' parameter for tensor '${tensor}', expected string_param.`,
    );
  const byteSize = readInteger(parameters, BYTE_SIZE);
  if (byteSize === undefined)
    throw invalidArgument(`'${BYTE_SIZE}' must be specified along with '${REGION}' parameter for tensor '${tensor}'`);
  return { region, offset: readInteger(parameters, OFFSET) ?? 0n, byteSize };
}
