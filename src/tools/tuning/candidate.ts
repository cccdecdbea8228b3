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

/** Facts on which it depends what is worth a trial. */
interface TuningFacts {
  readonly cores: number;
  /** True if requests can be put together into a batch. */
  readonly canBatch: boolean;
}

/**
 * Variations of the best candidate so far, one kind after the other: each kind goes
 * out from the best of the one before.
 */
export const VARIATIONS: readonly ((best: Candidate, facts: TuningFacts) => readonly Candidate[])[] = [
  threadVariations,
  batchVariations,
  optionVariations,
];

/** Cores shared out among more and more copies, and left idle: small models run faster on one thread. */
function threadVariations(best: Candidate, { cores }: TuningFacts): Candidate[] {
  const counts = new Set([1, Math.floor(cores / 4), Math.floor(cores / 2), cores].filter((count) => count > 0));
  return [...counts].flatMap((instances) => {
    const threads = new Set([1, Math.floor(cores / instances)]);
    const isDefault = (count: number) => instances === 1 && count === cores;
    return [...threads].filter((count) => !isDefault(count)).map((count) => ({ ...best, instances, threads: count }));
  });
}

const BATCHES = [4, 8, 16, 32];

function batchVariations(best: Candidate, { canBatch }: TuningFacts): Candidate[] {
  return canBatch ? BATCHES.map((rows) => withOptions(best, { max_batch_size: String(rows) })) : [];
}

/** Options of drivers that trade throughput for latency, or the processor's time for either. */
const OPTIONS: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
  onnx: [{ "session.intra_op.allow_spinning": "0" }, { graph_optimization_level: "extended" }],
  openvino: [{ performance_hint: "THROUGHPUT" }, { performance_hint: "LATENCY" }],
};

function optionVariations(best: Candidate): Candidate[] {
  return (OPTIONS[best.driver] ?? []).map((options) => withOptions(best, options));
}

function withOptions(candidate: Candidate, options: Candidate["options"]): Candidate {
  return { ...candidate, options: { ...candidate.options, ...options } };
}
