import type { FileFacts } from "../../../inspection/file-facts.ts";
import type { DriverTrial } from "./driver-trials.ts";

/** Everything that `kserving inspect` has found about a model. */
export interface Inspection {
  readonly path: string;
  /** Of its files. */
  readonly bytes: number;
  readonly facts: FileFacts;
  /** Memory that one copy is expected to take; absent where no driver is known. */
  readonly memoryBytes?: number;
  /** Empty where nothing was to be loaded. */
  readonly trials: readonly DriverTrial[];
}

/** The inspection as JSON. */
export function toPlainInspection({ facts, trials, ...rest }: Inspection): object {
  const { operators, weights, ...others } = facts;
  return {
    ...rest,
    ...others,
    ...(operators && { operators: Object.fromEntries(operators) }),
    ...(weights && { weights: Object.fromEntries(weights) }),
    signatures: trials.find(({ signatures }) => signatures !== undefined)?.signatures ?? {},
    drivers: trials.map(({ signatures, ...trial }) => ({ ...trial, runs: signatures !== undefined })),
  };
}
