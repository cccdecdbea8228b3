import type { DType } from "../../tensor/dtype.ts";

/** Requests with which a version is warmed up before it becomes available. */
export type WarmUpEntry = RandomWarmUp | FileWarmUp | SampleWarmUp;

/** Random values, for each model of a pipeline. */
interface RandomWarmUp {
  readonly kind: "random";
  /** Number of requests to each copy. */
  readonly count: number;
}

/** The request of a JSON file. */
interface FileWarmUp {
  readonly kind: "file";
  /** Absolute. */
  readonly path: string;
  readonly count: number;
}

/** Inputs of the first model as Triton's `model_warmup` describes them. */
interface SampleWarmUp {
  readonly kind: "sample";
  readonly name: string;
  readonly inputs: readonly SampleInput[];
  readonly count: number;
}

/** One input of a sample. */
export interface SampleInput {
  readonly name: string;
  readonly dtype: DType;
  /** With the batch, where the model has one. */
  readonly shape: readonly number[];
  /** Rows of the batch, each with the values of the file; 1 where there is none. */
  readonly rows: number;
  /** Its values; `path` is the absolute path of a file of raw values. */
  readonly values: "zero" | "random" | { readonly path: string };
}

/** Files that the entries read. */
export function warmUpFiles(entries: readonly WarmUpEntry[] = []): string[] {
  return entries.flatMap((entry) => {
    if (entry.kind === "file") return [entry.path];
    if (entry.kind === "random") return [];
    return entry.inputs.flatMap(({ values }) => (typeof values === "object" ? [values.path] : []));
  });
}
