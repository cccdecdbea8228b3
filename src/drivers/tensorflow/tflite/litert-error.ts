import { failedPrecondition, invalidArgument, publicText, ServingError } from "../../../errors.ts";
import { tellsOfSizes } from "../../shape-fault.ts";
import { LiteRtFailure } from "./litert-failure.ts";

/** The error for a model that LiteRT does not load or cannot run: `failed_precondition` with LiteRT's own words. */
export function toLoadError(reason: unknown, path: string): ServingError {
  if (reason instanceof ServingError) return reason;
  const other = reason instanceof LiteRtFailure && reason.isMoved ? ", or try --driver openvino" : "";
  const advice = `Serve the SavedModel that it was made from${other}.`;
  const message = `LiteRT cannot load the model "${path}": ${sentence(reason)} ${advice}`;
  return failedPrecondition(message, reason);
}

/** The error for a failed run: the client's where its sizes do not match, or a value is none of an operator's. */
export function toRunError(reason: unknown): ServingError {
  if (reason instanceof ServingError) return reason;
  const isClients = reason instanceof LiteRtFailure && !reason.isStructural && blamesInputs(reason.message);
  return new ServingError(isClients ? "invalid_argument" : "internal", `LiteRT failed: ${sentence(reason)}`, {
    cause: reason,
  });
}

/** The error for a number of rows with which a model that runs with others does not: it is the client's. */
export function toRowsError(reason: unknown, rows: number): unknown {
  if (!(reason instanceof LiteRtFailure && reason.isStructural) || rows === 1) return reason;
  const message = `The model does not take ${rows} rows at once: ${sentence(reason)} Send them one by one.`;
  return invalidArgument(message, reason);
}

function blamesInputs(message: string): boolean {
  return /out of (?:bounds|range)/.test(message) || tellsOfSizes(message);
}

function sentence(reason: unknown): string {
  return publicText(reason).replace(/\.?$/, ".");
}
