import type { Driver } from "../drivers/driver.ts";
import type { RawOptions } from "../drivers/option-table.ts";

/** One stage as a user names it. */
export interface StageOptions {
  /**
   * The name of another model of this server, instead of all other members: its requests use that model's own hooks,
   * queue and batches.
   */
  readonly model?: string;
  /**
   * The version of that model, which an ensemble of Triton's may name; absent = the highest available one at that time.
   */
  readonly version?: number;
  /**
   * A driver's name, the path of a user's own, or a driver as it is, whose model runs in the main thread; absent =
   * derived from the path.
   */
  readonly driver?: string | Driver;
  /** A file or folder; absent for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they override the shared ones. */
  readonly options?: RawOptions;
}

/** Names of the models of this server that are stages, without repetition. */
export function neededModels({ stages = [] }: { readonly stages?: readonly StageOptions[] }): readonly string[] {
  return [...new Set(stages.flatMap(({ model }) => model ?? []))];
}
