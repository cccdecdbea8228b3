import { invalidArgument, type ServingError } from "../../errors.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { readPlace } from "./read-place.ts";

/** The tensors of a request, without their values. */
type Places = Pick<KserveRequest, "shared" | "outputs">;

/** Checks if a request has an input or output in shared memory. */
export function namesSharedMemory({ shared, outputs }: Places): boolean {
  return shared !== undefined || outputs.some(({ name, parameters }) => readPlace(parameters, name) !== undefined);
}

/** The error for such a request where there is no shared memory. */
export function refuseSharedMemory({ shared, outputs }: Places): ServingError {
  const input = shared?.[0]?.head.name;
  const output = outputs.find(({ name, parameters }) => readPlace(parameters, name) !== undefined)?.name;
  const what = input === undefined ? `output '${output}'` : `input '${input}'`;
  return invalidArgument(
    `${what} is in shared memory (shared_memory_region), of which this server has none; start it with --allow-client-shm, or send and ask for values in messages`,
  );
}
