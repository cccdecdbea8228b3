import type { HookContext, Hooks } from "../hooks/hooks.ts";
import type { Values } from "../tensor/plain-value.ts";
import { createRecord } from "../tensor/record.ts";
import type { Ensemble, EnsembleStep } from "./ensemble.ts";

/** Hooks that run an ensemble whose stages are the models of its steps, in that order. */
export function ensembleHooks({ inputs, outputs, steps }: Ensemble): Hooks {
  const names = outputs.map(({ name }) => name);
  return { inputs, outputs, process: (given, ctx) => runSteps(steps, names, { given, ctx }) };
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
      const tensor = run.then((made) => made[own] as Values[string]);
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
  for (const [own, name] of names) values[own] = (await tensors.get(name)) as Values[string];
  return values;
}
