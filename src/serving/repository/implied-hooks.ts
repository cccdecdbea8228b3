import type { HookContext, Hooks } from "../../hooks/hooks.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { createRecord } from "../../tensor/record.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/** Models of the server that run in sequence or in parallel, as soon as their inputs exist: Triton's ensemble. */
export interface Ensemble {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** In an order in which each step finds its inputs. */
  readonly steps: readonly EnsembleStep[];
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

/**
 * Hooks that run an ensemble whose stages are the models of its steps, in that order. `inParts` says which of these
 * answer in parts.
 */
export function ensembleHooks({ inputs, outputs, steps }: Ensemble, inParts: readonly boolean[] = []): Hooks {
  const names = outputs.map(({ name }) => name);
  if (!inParts.includes(true))
    return { inputs, outputs, process: (given, ctx) => runSteps(steps, names, { given, ctx }) };
  return {
    inputs,
    outputs,
    async *process(given, ctx) {
      for await (const tensors of eachPart(steps, new Map(Object.entries(given)), ctx))
        yield createTensors(names.map((name) => [name, tensors.get(name) as Tensor]));
    },
  };
}

/** The tensors of an ensemble by name. */
type NamedTensors = ReadonlyMap<string, Values[string]>;

/** Each part of a step goes through all the steps behind it before the next one. */
async function* eachPart(
  steps: readonly EnsembleStep[],
  tensors: NamedTensors,
  ctx: HookContext,
  index = 0,
): AsyncGenerator<NamedTensors, void, undefined> {
  const step = steps[index];
  const driver = ctx.drivers[index];
  if (step === undefined || driver === undefined) {
    yield tensors;
    return;
  }
  const values = createRecord<Values[string]>();
  for (const [own, name] of Object.entries(step.inputs)) values[own] = tensors.get(name)!;
  for await (const part of driver.stream(values, { outputs: Object.keys(step.outputs) })) {
    const made = Object.entries(step.outputs).map(([own, name]) => [name, part[own]!] as const);
    yield* eachPart(steps, new Map([...tensors, ...made]), ctx, index + 1);
  }
}

interface Run {
  readonly given: Values;
  readonly ctx: HookContext;
}

/** Each step begins as soon as its inputs exist; when one fails, the others are awaited too. */
async function runSteps(
  steps: readonly EnsembleStep[],
  outputs: readonly string[],
  { given, ctx }: Run,
): Promise<Values> {
  const tensors = new Map<string, Promise<Values[string]>>();
  for (const [name, value] of Object.entries(given)) tensors.set(name, Promise.resolve(value));
  const runs = steps.map((step, index) => {
    const run = runStep(step, index, { tensors, ctx });
    for (const [own, name] of Object.entries(step.outputs)) {
      const tensor = run.then((made) => made[own]!);
      // It fails together with its step, which is awaited below.
      tensor.catch(() => {});
      tensors.set(name, tensor);
    }
    return run;
  });
  const failed = (await Promise.allSettled(runs)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return valuesOf(
    outputs.map((name) => [name, name]),
    tensors,
  );
}

interface StepRun {
  readonly tensors: ReadonlyMap<string, Promise<Values[string]>>;
  readonly ctx: HookContext;
}

async function runStep({ inputs, outputs }: EnsembleStep, index: number, { tensors, ctx }: StepRun): Promise<Values> {
  const values = await valuesOf(Object.entries(inputs), tensors);
  return (ctx.drivers[index] as HookContext["drivers"][number]).predict(values, { outputs: Object.keys(outputs) });
}

async function valuesOf(
  names: readonly (readonly [own: string, tensor: string])[],
  tensors: ReadonlyMap<string, Promise<Values[string]>>,
): Promise<Values> {
  const values = createRecord<Values[string]>();
  for (const [own, name] of names) values[own] = (await tensors.get(name))!;
  return values;
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
