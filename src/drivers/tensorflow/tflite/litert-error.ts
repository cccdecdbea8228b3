import { publicText, reasonText, ServingError } from "../../../errors.ts";
import type { StartedLiteRt } from "./litert.ts";

/** The error for a model that LiteRT does not load or cannot run: `failed_precondition` with LiteRT's own words. */
export function toLoadError(reason: unknown, runtime: StartedLiteRt, path: string): ServingError {
  if (reason instanceof ServingError) return reason;
  const message = `LiteRT cannot load the model "${path}": ${explain(reason, runtime)}`;
  return new ServingError("failed_precondition", message, { cause: reason });
}

/** The error for a failed run. */
export function toRunError(reason: unknown, runtime: StartedLiteRt): ServingError {
  if (reason instanceof ServingError) return reason;
  return new ServingError("internal", `LiteRT failed: ${explain(reason, runtime)}`, { cause: reason });
}

/** The exception only names a place in LiteRT's sources; what went wrong was written before. */
function explain(reason: unknown, { takeMessages }: StartedLiteRt): string {
  const errors = takeMessages().flatMap((line) => /^ERROR: (?:\[[\w.]+:\d+\] )?(.*)/.exec(line)?.[1] ?? []);
  return publicText(errors[0] ?? reasonText(reason));
}
