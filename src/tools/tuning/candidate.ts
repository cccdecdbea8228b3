import { shellWord } from "../../platform/text/terminal.ts";

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

/** Facts that decide which candidates are worth a trial. */
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

/** A model as the user gave it. */
export interface TunedModel {
  readonly name: string;
  readonly path: string;
  /** `-o` options that the user gave. */
  readonly options: Readonly<Record<string, string>>;
  readonly hooks?: string;
}

/** A candidate as lines of a configuration file. */
export function toConfig(model: TunedModel, { driver, instances, threads, options }: Candidate): string[] {
  const all = Object.entries({ ...model.options, ...options }).map(([key, value]) => `${plain(key)}: ${plain(value)}`);
  return [
    "models:",
    `  - name: ${plain(model.name)}`,
    `    path: ${plain(model.path)}`,
    `    driver: ${plain(driver)}`,
    ...(model.hooks === undefined ? [] : [`    hooks: ${plain(model.hooks)}`]),
    ...(instances === undefined ? [] : [`    instances: ${instances}`]),
    ...(threads === undefined ? [] : [`    threads: ${threads}`]),
    ...(all.length === 0 ? [] : [`    options: { ${all.join(", ")} }`]),
  ];
}

/** A candidate as a command line. */
export function toCommand(model: TunedModel, { driver, instances, threads, options }: Candidate): string {
  return [
    `kserving ${shellWord(model.path)} --driver ${shellWord(driver)}`,
    ...(model.hooks === undefined ? [] : [`--hooks ${shellWord(model.hooks)}`]),
    ...(instances === undefined ? [] : [`--instances ${instances}`]),
    ...(threads === undefined ? [] : [`--threads ${threads}`]),
    ...Object.entries({ ...model.options, ...options }).map(([key, value]) => `-o ${shellWord(`${key}=${value}`)}`),
  ].join(" ");
}

/** A scalar of YAML; JSON's strings are. What YAML would read as something else than this text is one too. */
function plain(text: string): string {
  const isWord = /^[A-Za-z./_][\w./-]*$/.test(text) && !/^(?:null|true|false|\.inf|\.nan|\.\d.*)$/i.test(text);
  return isWord || String(Number(text)) === text ? text : JSON.stringify(text);
}
