import { type ErrorCode, ServingError } from "../errors.ts";
import type { HookContext, Hooks } from "../hooks/hooks.ts";
import { createRecord } from "../tensor/record.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { StepTurns } from "./step-turns.ts";

/** Models of the server that run in sequence or in parallel, as soon as their inputs exist: Triton's ensemble. */
export interface Ensemble {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** In an order in which each step finds its inputs. */
  readonly steps: readonly EnsembleStep[];
  /** Requests at a time that each step runs; absent = any number. */
  readonly maxInflight?: number;
}

/** One model of an ensemble. */
export interface EnsembleStep {
  readonly model: string;
  /** Absent = the highest version that is available when the step begins. */
  readonly version?: number;
  /** The model's own names of inputs, each with the name of the ensemble's tensor that it takes. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The model's own names of outputs, each with the name of the ensemble's tensor. */
  readonly outputs: Readonly<Record<string, string>>;
}

/** A step with its place among the stages. */
interface PlacedStep extends EnsembleStep {
  readonly index: number;
  /** True if it takes what clients send alone, and nothing that another step has made. */
  readonly takesGiven: boolean;
}

/**
 * Hooks that run an ensemble whose stages are the models of its steps, in that order. `inParts` says which of these
 * answer in parts: steps behind one of them run for each part, and the other steps once, before.
 */
export function ensembleHooks(ensemble: Ensemble, inParts: readonly boolean[] = []): Hooks {
  const { inputs, outputs, maxInflight } = ensemble;
  const turns = new StepTurns(ensemble.steps.length, maxInflight);
  const isGiven = (tensor: string) => inputs.some(({ name }) => name === tensor);
  const steps = ensemble.steps.map((step, index): PlacedStep => {
    const takesGiven = Object.values(step.inputs).every(isGiven);
    return { ...step, index, takesGiven };
  });
  const behind = steps.filter(({ index }) => stepsBefore(steps, index).some((before) => inParts[before]));
  const once = steps.filter((step) => !behind.includes(step));
  const outputsOf = (tensors: NamedTensors) => createTensors(outputs.map(({ name }) => [name, tensors.get(name)!]));
  if (behind.length === 0)
    return { inputs, outputs, process: async (given, ctx) => outputsOf(await runSteps(once, { given, ctx, turns })) };
  return {
    inputs,
    outputs,
    async *process(given, ctx) {
      const before = await runSteps(once, { given, ctx, turns });
      for await (const tensors of eachPart(behind, before, { ctx, turns })) yield outputsOf(tensors);
    },
  };
}

/** The steps whose tensors a step takes, directly or by others, and itself; each by its place. */
function stepsBefore(steps: readonly EnsembleStep[], index: number): readonly number[] {
  const found: number[] = [];
  const taken = new Set<string>();
  for (let at = index; at >= 0; at--) {
    const { inputs, outputs } = steps[at] as EnsembleStep;
    if (at !== index && !Object.values(outputs).some((name) => taken.has(name))) continue;
    found.push(at);
    for (const name of Object.values(inputs)) taken.add(name);
  }
  return found;
}

/**
 * The reason why an ensemble cannot be run whose steps answer in parts as {@link ensembleHooks} gets them; undefined =
 * it can.
 */
export function refusedParts({ steps }: Ensemble, inParts: readonly boolean[]): string | undefined {
  const parted = steps.flatMap((step, index) => (inParts[index] ? [{ ...step, index }] : []));
  for (const [place, later] of parted.entries()) {
    const before = stepsBefore(steps, later.index);
    const apart = parted.slice(0, place).find(({ index }) => !before.includes(index));
    if (apart !== undefined)
      return `has two steps that answer in parts, ${apart.model} and ${later.model}, and none of them takes what comes of the other: it is not known which of their parts belong together; write it as hooks, which can say that`;
  }
  return undefined;
}

/** The tensors of an ensemble by name. */
type NamedTensors = ReadonlyMap<string, Tensor>;

interface PartsRun {
  readonly ctx: HookContext;
  readonly turns: StepTurns;
}

/** Each part of a step goes through all the steps behind it before the next one. */
async function* eachPart(
  [step, ...others]: readonly PlacedStep[],
  tensors: NamedTensors,
  run: PartsRun,
): AsyncGenerator<NamedTensors, void, undefined> {
  if (step === undefined) {
    yield tensors;
    return;
  }
  const values = createRecord<Tensor>();
  for (const [own, name] of Object.entries(step.inputs)) values[own] = tensors.get(name)!;
  const { ctx, turns } = run;
  const driver = ctx.drivers[step.index] as HookContext["drivers"][number];
  const open = () => driver.stream(values, { outputs: Object.keys(step.outputs) });
  for await (const part of toldFor(step, ctx, turns.takeParts(step.index, ctx, open))) {
    const made = Object.entries(step.outputs).map(([own, name]) => [name, part[own]!] as const);
    yield* eachPart(others, new Map([...tensors, ...made]), run);
  }
}

async function* toldFor(
  step: PlacedStep,
  ctx: HookContext,
  parts: AsyncIterable<Tensors>,
): AsyncGenerator<Tensors, void, undefined> {
  try {
    yield* parts;
  } catch (reason) {
    throw stepFailure(reason, step, ctx);
  }
}

interface Run extends PartsRun {
  readonly given: Tensors;
}

/** Each step begins as soon as its inputs exist; when one fails, the others are awaited too. */
async function runSteps(steps: readonly PlacedStep[], { given, ...run }: Run): Promise<NamedTensors> {
  const tensors = new Map<string, Promise<Tensor>>();
  for (const [name, value] of Object.entries(given)) tensors.set(name, Promise.resolve(value));
  const runs = steps.map((step) => {
    const made = runStep(step, tensors, run);
    for (const [own, name] of Object.entries(step.outputs)) {
      const tensor = made.then((outputs) => outputs[own]!);
      // It fails together with its step, which is awaited below.
      tensor.catch(() => {});
      tensors.set(name, tensor);
    }
    return made;
  });
  const failed = (await Promise.allSettled(runs)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return new Map(await Promise.all(Array.from(tensors, async ([name, tensor]) => [name, await tensor] as const)));
}

async function runStep(
  step: PlacedStep,
  tensors: ReadonlyMap<string, Promise<Tensor>>,
  { ctx, turns }: PartsRun,
): Promise<Tensors> {
  const { inputs, outputs, index } = step;
  const values = createRecord<Tensor>();
  for (const [own, name] of Object.entries(inputs)) values[own] = (await tensors.get(name))!;
  const driver = ctx.drivers[index] as HookContext["drivers"][number];
  try {
    return await turns.take(index, ctx, () => driver.predict(values, { outputs: Object.keys(outputs) }));
  } catch (reason) {
    throw stepFailure(reason, step, ctx);
  }
}

/** Codes of errors that values cause, and of errors that the request has by itself. */
const REFUSALS: readonly ErrorCode[] = ["invalid_argument", "failed_precondition"];
const OWN_ENDS: readonly ErrorCode[] = ["cancelled", "deadline_exceeded"];

/**
 * The error of an ensemble whose step has failed, with Triton's text. Values that a step refuses are the client's fault
 * if no other step has made them; there is no hook of a user that could be blamed.
 */
function stepFailure(reason: unknown, { takesGiven }: PlacedStep, { request }: HookContext): unknown {
  if (!(reason instanceof ServingError) || OWN_ENDS.includes(reason.code)) return reason;
  const { code, message, cause, details } = reason;
  const refused = cause instanceof ServingError && REFUSALS.includes(cause.code) ? cause : undefined;
  const text = `in ensemble '${request.model}', ${refused?.message ?? message}`;
  return new ServingError(takesGiven && refused ? refused.code : code, text, { cause: reason, details });
}

/** The tensors of a model as clients send and get them, and the shapes that some have in the model. */
export interface Reshaping {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** By name, from the clients' shape to the model's. */
  readonly ofInputs: ReadonlyMap<string, Reshape>;
  /** By name, from the model's shape to the clients'. */
  readonly ofOutputs: ReadonlyMap<string, Reshape>;
}

/** Hooks that give a model's tensors the shapes that clients have; the values stay where they are. */
export function reshapeHooks({ inputs, outputs, ofInputs, ofOutputs }: Reshaping): Hooks {
  return {
    inputs,
    outputs,
    preprocess: (values) => reshapeAll(values, ofInputs),
    postprocess: (values) => reshapeAll(values, ofOutputs),
  };
}

function reshapeAll(tensors: Tensors, reshapes: ReadonlyMap<string, Reshape>): Tensors {
  return createTensors(
    Object.entries(tensors).map(([name, tensor]) => {
      const reshape = reshapes.get(name);
      const shape = reshape === undefined ? tensor.shape : reshapeSizes(tensor.shape, reshape);
      return [name, { ...tensor, shape } as Tensor];
    }),
  );
}

/** Two shapes of one tensor, with equally many elements; -1 is any size. The n-th open size of both is the same. */
export interface Reshape {
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/** The sizes of a tensor in its other shape. */
export function reshapeSizes(sizes: readonly number[], { from, to }: Reshape): number[] {
  const open = sizes.filter((_, axis) => from[axis] === -1);
  return to.map((size) => (size === -1 ? open.shift()! : size));
}

/** Checks that both shapes have the same open sizes, and equally many elements between these. */
export function isReshape({ from, to }: Reshape): boolean {
  const [before, after] = [elementsBetweenOpen(from), elementsBetweenOpen(to)];
  return before.length === after.length && before.every((count, index) => count === after[index]);
}

/** The elements before, between and after the open sizes. */
function elementsBetweenOpen(shape: readonly number[]): number[] {
  const counts = [1];
  for (const size of shape) {
    if (size === -1) counts.push(1);
    else counts.push(counts.pop()! * size);
  }
  return counts;
}
