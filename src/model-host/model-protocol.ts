import { FIRST_QUESTION } from "../threads/exchange.ts";

/** Asks a model to predict; its inputs are the record's tensors. */
export const PREDICT = FIRST_QUESTION;
/** Asks for a call of a method that the model gives to hooks. */
export const CALL = FIRST_QUESTION + 1;
/** Asks what the model's runs took; the answer's meta is a RunStatistics. */
export const STATISTICS = FIRST_QUESTION + 2;

/** The meta of {@link PREDICT}. */
export interface PredictMeta {
  readonly signature: string;
  readonly outputs?: readonly string[];
  readonly deadline?: number;
  readonly priority?: number;
  readonly queueTimeoutMs?: number;
}

/** The meta of {@link CALL}; its tensors are those of the arguments. */
export interface CallMeta {
  readonly method: string;
  readonly args: unknown;
}
