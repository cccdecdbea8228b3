import { invalidArgument, type ServingError } from "../../errors.ts";
import type { MemoryPlace } from "../../platform/shared-memory/shared-memory.ts";
import type { JsonInput } from "./http-request.ts";
import type { KserveRequest, SharedInput } from "./kserve-request.ts";
import { type Parameters, readInteger } from "./parameters.ts";

const REGION = "shared_memory_region";
const OFFSET = "shared_memory_offset";
const BYTE_SIZE = "shared_memory_byte_size";

/**
 * The place in shared memory that the parameters of an input or output (`tensor`, its name) state; undefined if they
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

/** The tensors of a request, without their values. */
type Places = Pick<KserveRequest, "shared" | "outputs">;

/** Checks if a request has an input or output in shared memory. */
export function namesSharedMemory({ shared, outputs }: Places): boolean {
  return shared !== undefined || outputs.some(({ name, parameters }) => readPlace(parameters, name) !== undefined);
}

/** The error for such a request if there is no shared memory. */
export function refuseSharedMemory({ shared, outputs }: Places): ServingError {
  const input = shared?.[0]?.head.name;
  const output = outputs.find(({ name, parameters }) => readPlace(parameters, name) !== undefined)?.name;
  const what = input === undefined ? `output '${output}'` : `input '${input}'`;
  return invalidArgument(
    `${what} is in shared memory (shared_memory_region), of which this server has none; start it with --allow-client-shm, or send and ask for values in messages`,
  );
}

/** The inputs of a request by where their values are. */
interface SplitInputs {
  /** In the message. */
  readonly sent: readonly JsonInput[];
  /** In shared memory; undefined = none is. */
  readonly shared: readonly SharedInput[] | undefined;
}

/** Divides inputs by where their values are; throws `invalid_argument` for one that states several places. */
export function splitInputs(inputs: readonly JsonInput[]): SplitInputs {
  const sent: JsonInput[] = [];
  const shared: SharedInput[] = [];
  for (const input of inputs) {
    const place = readPlace(input.parameters, input.name);
    if (place === undefined) {
      sent.push(input);
      continue;
    }
    assertNotSent(input);
    const { name, datatype, shape } = input;
    shared.push({ head: { name, datatype, shape }, place });
  }
  return { sent, shared: shared.length > 0 ? shared : undefined };
}

function assertNotSent({ name, data, parameters }: JsonInput): void {
  const isBinary = parameters.has("binary_data_size");
  if (data === undefined && !isBinary) return;
  const set = [...(data === undefined ? [] : ["'data'"]), ...(isBinary ? ["'binary_data_size'"] : [])].join(" ");
  throw invalidArgument(
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', " +
      `'shared_memory_region' in 'parameters'. But set ${set} 'shared_memory_region' for input '${name}'`,
  );
}
