import { invalidArgument } from "../errors.ts";

/** Characters that the name of a model may have: it stands in paths, addresses, logs and metrics. */
const MAX_MODEL_NAME = 1024;

/** Throws `invalid_argument` for the name of a model that a client wants to have loaded, and that is too long. */
export function assertModelName(name: string): void {
  if (name.length <= MAX_MODEL_NAME) return;
  const begins = JSON.stringify(name.slice(0, 100));
  throw invalidArgument(
    `The model's name has ${name.length} characters; expected ${MAX_MODEL_NAME} at most. It begins ${begins}.`,
  );
}
