/** One way to serve a model. */
export interface Candidate {
  readonly driver: string;
  /** Copies of the model; absent = the default. */
  readonly instances?: number;
  /** Threads of each copy's runtime; absent = the default. */
  readonly threads?: number;
  /** `-o` options that are tried, without those that the user gave. */
  readonly options: Readonly<Record<string, string>>;
}

/** A candidate in a few words: `onnx, 2 instances, 1 thread, max_batch_size=8`. */
export function candidateText({ driver, instances, threads, options }: Candidate): string {
  return [
    driver,
    ...(instances === undefined ? [] : [counted(instances, "instance")]),
    ...(threads === undefined ? [] : [counted(threads, "thread")]),
    ...Object.entries(options).map(([key, value]) => `${key}=${value}`),
  ].join(", ");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
