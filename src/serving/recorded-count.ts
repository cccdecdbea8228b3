import type { ErrorCode } from "../errors.ts";

/** Number of a model's requests whose record had one outcome. */
export interface RecordedCount {
  readonly model: string;
  /** `ok` = it is in a file, else the code of the reason why it is not. */
  readonly outcome: "ok" | ErrorCode;
  readonly count: number;
}
