import { CancelSource } from "../async/cancel-source.ts";
import { settlesWithin } from "../async/promises.ts";
import type { ExampleInput, ExampleInputs } from "../signature/example-inputs.ts";
import type { LooseSpec, Signature, TensorSpec } from "../signature/signature.ts";
import { createTensors, elementCount, type Tensors } from "../tensor/tensor.ts";
import { attempts } from "./example-attempts.ts";
import { filledTensor } from "./filled-tensor.ts";
import type { ModelHandle } from "./model-handle.ts";

/** Milliseconds after which no other try begins, and the last one is given up. */
const BUDGET_MS = 2000;
/** Time in which a run ends that heeds its deadline. */
const GRACE_MS = 500;
/** For a pipeline that takes any names. */
const ANY: readonly ExampleInput[] = [{ name: "x", dtype: "float32", shape: [3], element: 0.5 }];
/** Larger inputs are not tried: they would take long, and much memory. */
const MAX_ELEMENTS = 1 << 22;

/**
 * Finds inputs on which a model runs, for the example that users are shown. They are run, with several sizes where the
 * model leaves some open; a model whose runs leave something behind is not run, nor is one that is absent. Takes a few
 * seconds at most, whatever the model does. Never throws: the reason of a failed try is dropped.
 */
export async function findExampleInputs(
  model: ModelHandle | undefined,
  { inputs: specs, suggestedInputs = [] }: Signature,
): Promise<ExampleInputs> {
  const needed = specs?.filter((spec) => spec.default === undefined) ?? complete(suggestedInputs);
  const likely = model?.likelyInputs ?? [];
  const lists = needed === undefined ? likely : [needed];
  const candidates = lists.flatMap((list) =>
    [...attempts(list, specs !== undefined)].map((inputs) => ({ inputs, specs: list })),
  );
  if (candidates.length === 0) candidates.push({ inputs: ANY, specs: [] });
  const [first] = candidates as [(typeof candidates)[number]];
  const small = candidates.filter(isSmall);
  if (model?.isPure !== true || small.length === 0) return { inputs: first.inputs, guessed: guessedNames(first.specs) };
  const until = performance.now() + BUDGET_MS;
  for (const { inputs, specs: list } of small) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) break;
    const outcome = await tryOn(model, inputs, leftMs);
    if (outcome === "ran") return { inputs, ran: true, guessed: guessedNames(list, inputs) };
    if (outcome === "runs")
      return { inputs: first.inputs, ran: false, stillRuns: true, guessed: guessedNames(first.specs) };
  }
  return { inputs: first.inputs, ran: false, guessed: guessedNames(first.specs) };
}

function isSmall({ inputs }: { readonly inputs: readonly ExampleInput[] }): boolean {
  return inputs.reduce((sum, { shape }) => sum + elementCount(shape), 0) <= MAX_ELEMENTS;
}

/** Suggestions of which everything is known. */
function complete(specs: readonly LooseSpec[]): readonly TensorSpec[] | undefined {
  const isComplete = (spec: LooseSpec): spec is TensorSpec => spec.dtype !== undefined && spec.shape !== undefined;
  return specs.length > 0 && specs.every(isComplete) ? specs : undefined;
}

/** Some runs ignore the deadline: an endless loop in a library, or in a user's own driver. */
async function tryOn(
  model: ModelHandle,
  inputs: readonly ExampleInput[],
  leftMs: number,
): Promise<"ran" | "failed" | "runs"> {
  const signal = new CancelSource();
  const limits = { deadline: Date.now() + leftMs, warmUp: 0 };
  const call = { signature: model.defaultSignature, limits, signal };
  const tensors: Tensors = createTensors(inputs.map((input) => [input.name, filledTensor(input)]));
  const run = model.predict(tensors, call).then(
    () => "ran" as const,
    () => "failed" as const,
  );
  if (await settlesWithin(run, leftMs + GRACE_MS)) return run;
  signal.abort(new DOMException("The try took too long.", "TimeoutError"));
  return "runs";
}

/** One row is not a guess, nor is the size 1 of inputs that ran. */
function guessedNames(specs: readonly TensorSpec[], ran: readonly ExampleInput[] = []): string[] {
  const isGuess = ({ shape }: TensorSpec, index: number) =>
    shape === undefined ||
    shape.some((size, axis) => (axis > 0 || shape.length === 1) && size === -1 && ran[index]?.shape[axis] !== 1);
  return specs.filter(isGuess).map(({ name }) => name);
}
