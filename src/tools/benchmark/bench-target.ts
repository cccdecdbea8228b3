import type { LoadTarget } from "./load/load-job.ts";

/** A load's target, whose model has answered its request once. */
export interface BenchTarget {
  readonly load: LoadTarget;
  /** The address; a served model's has the port that was free. */
  readonly address: string;
  /** The runtime of a served model, with its version. */
  readonly runtime?: string;
  /** True if the first dimension of every input is open, as that of a batch is. */
  readonly hasOpenRows: boolean;
  close(): Promise<void>;
}
