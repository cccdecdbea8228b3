import { failedPrecondition, invalidArgument, publicText, reasonText, ServingError } from "../../../errors.ts";
import { tellsOfSizes } from "../../run-failure.ts";
import { noteTrap, refuseAfterTrap } from "../wasm-trap.ts";
import type { StartedLiteRt } from "./litert.ts";

/** The error for a model that LiteRT does not load or cannot run: `failed_precondition` with LiteRT's own words. */
export function toLoadError(reason: unknown, path: string): ServingError {
  if (reason instanceof ServingError) return reason;
  const other = reason instanceof LiteRtFailure && reason.isMoved ? ", or try --driver openvino" : "";
  const advice = `Serve the SavedModel that it was made from${other}.`;
  const message = `LiteRT cannot load the model "${path}": ${sentence(reason)} ${advice}`;
  return failedPrecondition(message, reason);
}

/** The error for a failed run: the client's fault if its sizes do not match, or a value is none of an operator's. */
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

/** Words that only name the place in LiteRT that found an output outside of the memory that it was given. */
const MOVED = /litert_(compiled_model|tensor_buffer)\.h|allocation_type/;
/** Errors that come of the model and the sizes it is compiled for, whatever the values of a request are. */
const STRUCTURAL = /custom (op|allocation)|allocate tensors|failed to (prepare|reshape)|allocation_type/i;

/** A load or a run that LiteRT reported errors of, in LiteRT's own words. */
export class LiteRtFailure extends Error {
  override readonly name = "LiteRtFailure";
  /** True if the model itself is the reason: LiteRT could not prepare its operators or their memory. */
  readonly isStructural: boolean;
  /** True if the shape of an output is computed while the model runs. */
  readonly isMoved: boolean;

  constructor(errors: readonly string[], cause?: unknown) {
    const text = errors[0] ?? reasonText(cause);
    const isMoved = MOVED.test(text);
    super(isMoved ? "the shape of an output is computed while the model runs" : publicText(text), { cause });
    this.isMoved = isMoved;
    this.isStructural = cause !== undefined || errors.some((error) => STRUCTURAL.test(error));
  }
}

/** Does something with LiteRT; rejects with {@link LiteRtFailure} if it throws, or only writes that it failed. */
export async function failing<T>({ takeErrors }: StartedLiteRt, act: () => Promise<T> | T): Promise<T> {
  refuseAfterTrap();
  takeErrors();
  let result: T;
  try {
    result = await act();
  } catch (reason) {
    noteTrap(reason);
    throw new LiteRtFailure(takeErrors(), reason);
  }
  const errors = takeErrors();
  if (errors.length > 0) throw new LiteRtFailure(errors);
  return result;
}
