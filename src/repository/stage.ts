import type { RawOptions } from "../drivers/option-table.ts";

/** One stage as a user names it. */
export interface StageOptions {
  /** The name of another model of this server, in place of the rest: its requests go through that model's own hooks, queue and batches. */
  readonly model?: string;
  /** The version of that model, as an ensemble of Triton's may name one; left out = the highest that is available then. */
  readonly version?: number;
  /** A driver's name or the path of a user's own; left out = told by the path. */
  readonly driver?: string;
  /** A file or folder; left out for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they win over the shared ones. */
  readonly options?: RawOptions;
}

/** Names of the models of this server that are stages, each once. */
export function neededModels({ stages = [] }: { readonly stages?: readonly StageOptions[] }): readonly string[] {
  return [...new Set(stages.flatMap(({ model }) => model ?? []))];
}
