import type { IncomingMessage } from "node:http";
import { invalidArgument, type ServingError } from "../../errors.ts";

/** Behind the original's text. */
const EXPECTED =
  "Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.";

/** The error for a URL or method that TensorFlow Serving's REST API does not have. */
export function malformedRequest({ method, url }: IncomingMessage): ServingError {
  return invalidArgument(`Malformed request: ${method} ${url}. ${EXPECTED}`);
}
