import { publicText, reasonText } from "../../../errors.ts";
import { noteTrap, refuseAfterTrap } from "../wasm-trap.ts";
import type { StartedLiteRt } from "./litert.ts";

/** Words that only name a place where LiteRT found that an output is no longer in the memory that it was given. */
const MOVED = /litert_(compiled_model|tensor_buffer)\.h|allocation_type/;
/** Errors that come of the model and the sizes it is compiled for, whatever the values of a request are. */
const STRUCTURAL = /custom (op|allocation)|allocate tensors|failed to (prepare|reshape)|allocation_type/i;

/** A load or a run that LiteRT reported errors of, in LiteRT's own words. */
export class LiteRtFailure extends Error {
  override readonly name = "LiteRtFailure";
  /** True where the model itself is the reason: LiteRT could not prepare its operators or their memory. */
  readonly isStructural: boolean;
  /** True where the shape of an output is computed while the model runs. */
  readonly isMoved: boolean;

  constructor(errors: readonly string[], cause?: unknown) {
    const text = errors[0] ?? reasonText(cause);
    const isMoved = MOVED.test(text);
    super(isMoved ? "the shape of an output is computed while the model runs" : publicText(text), { cause });
    this.isMoved = isMoved;
    this.isStructural = cause !== undefined || errors.some((error) => STRUCTURAL.test(error));
  }
}

/** Does something with LiteRT; rejects with {@link LiteRtFailure} where it throws, or only writes that it failed. */
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
