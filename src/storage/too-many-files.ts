import { failedPrecondition, type ServingError } from "../errors.ts";

/** The error for a prefix with more files than any model has. */
export function tooManyFiles(maxFiles: number): ServingError {
  return failedPrecondition(
    `there are more than ${maxFiles} files; expected the address of a model, or of a folder of models`,
  );
}
