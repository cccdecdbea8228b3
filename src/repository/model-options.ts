import type { RawOptions } from "../drivers/option-table.ts";

/** One stage as a user names it. */
export interface ModelOptions {
  /** A driver's name or the path of a user's own; left out = told by the path. */
  readonly driver?: string;
  /** A file or folder; left out for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they win over the shared ones. */
  readonly options?: RawOptions;
}
