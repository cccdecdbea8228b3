import { failedPrecondition } from "../../errors.ts";
import type { Signature, TensorSpec } from "../../tensor/signature/signature.ts";

/** Limits and form of batches. */
export interface Batching {
  /** Rows of a batch at most. */
  readonly maxRows: number;
  /**
   * Time that an incomplete batch waits for more requests, from the arrival of its first one, in milliseconds; 0 =
   * waiting requests are batched at once.
   */
  readonly lingerMs: number;
  /**
   * Rows that a batch may have, ascending, the last one equal to `maxRows`; smaller
   * batches are padded with copies of a row. Empty = any.
   */
  readonly allowedRows: readonly number[];
  /** Full batches that may wait at most; 0 = any number. */
  readonly maxWaiting: number;
  /** Pads inputs that differ beyond the first dimension to the largest, each with its own first element. */
  readonly padVariableLength: boolean;
  /**
   * True where no option asks for batches: one request runs as without them, and clients are told of no
   * largest batch.
   */
  readonly isImplied?: boolean;
}

/**
 * Batches of models of texts, whose padding is kept small by their lengths: requests that wait go together,
 * and one that comes alone waits for none.
 */
const TEXT_BATCHING: Batching = {
  ...{ maxRows: 16, lingerMs: 0, allowedRows: [], maxWaiting: 0, padVariableLength: false },
  isImplied: true,
};

/** Throws `failed_precondition` for a signature whose inputs or outputs have no batch dimension. */
export function assertBatchable(signature: Signature): void {
  const odd = withoutBatch(signature);
  if (odd === undefined) return;
  const { name, shape = [] } = odd;
  const found = shape.length === 0 ? "is a scalar" : `has a first dimension of ${shape[0]}`;
  throw failedPrecondition(`The model cannot be batched: ${name} ${found}; expected a first dimension of any size.`);
}

function withoutBatch({ inputs = [], outputs = [] }: Signature): TensorSpec | undefined {
  return [...inputs, ...outputs].find(
    ({ shape }) => shape !== undefined && shape[0] !== -1 && (shape.length === 0 || typeof shape[0] === "number"),
  );
}

/** The batches of a model of texts for which no option asks; undefined if it has rows of a fixed number. */
export function impliedBatching(signatures: readonly Signature[]): Batching | undefined {
  const isOpen = signatures.every((signature) => withoutBatch(signature) === undefined);
  return isOpen ? withinBounds(TEXT_BATCHING, signatures) : undefined;
}

/** The same with no more rows than all inputs take, if their first dimensions have upper bounds. */
export function withinBounds(batching: Batching, signatures: readonly Signature[]): Batching {
  const first = signatures.flatMap(({ inputs = [] }) => inputs.map(({ shape }) => shape?.[0]));
  const most = Math.min(...first.map((rows) => (typeof rows === "object" ? rows.max : batching.maxRows)));
  if (most >= batching.maxRows) return batching;
  return { ...batching, maxRows: most, allowedRows: batching.allowedRows.filter((rows) => rows <= most) };
}
