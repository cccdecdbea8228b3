import { ServingError } from "../../errors.ts";

/** Why every call about regions of shared memory is refused. */
export function noSharedMemory(): ServingError {
  return new ServingError(
    "unimplemented",
    "This server has no shared-memory regions; send tensors in raw_input_contents, or over HTTP as binary data.",
  );
}
