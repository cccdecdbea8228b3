import { CancelSource } from "../async/cancel-source.ts";
import { settlesWithin } from "../async/settles-within.ts";
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
const ANY: readonly ExampleInput[] = [{ name: "x", dtype: "float32", shape: [3], element: 0 }];
/** Larger inputs are not tried: they would take long, and much memory. */
const MAX_ELEMENTS = 1 << 22;

/**
 * Finds inputs on which a model runs, for the example that users are shown. Sizes that the model leaves open are tried;
 * a model whose runs leave something behind is not run, nor is one that is absent. Takes a few seconds at most,
 * whatever the model does. Never throws: the reason of a failed try is dropped.
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
  const [first = { inputs: ANY, specs: [] }] = candidates;
  const isTriable = model?.isPure === true && lists.some((list) => list.some(isOpen));
  if (!isTriable) return { inputs: first.inputs, guessed: guessedNames(first.specs) };
  const until = performance.now() + BUDGET_MS;
  for (const { inputs, specs: list } of candidates.filter(isSmall)) {
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
  const call = { signature: model.defaultSignature, signal, deadline: Date.now() + leftMs, warmUp: 0 };
  const tensors: Tensors = createTensors(inputs.map((input) => [input.name, filledTensor(input)]));
  const run = model.predict(tensors, call).then(
    () => "ran" as const,
    () => "failed" as const,
  );
  if (await settlesWithin(run, leftMs + GRACE_MS)) return run;
  signal.abort(new DOMException("The try took too long.", "TimeoutError"));
  return "runs";
}

/** True where a valid shape or value has to be searched for. */
function isOpen({ dtype, shape }: TensorSpec): boolean {
  return dtype === "bytes" || shape === undefined || shape.some((size) => typeof size === "object" || size === -1);
}

/** One row is not a guess, nor is the size 1 of inputs that ran. */
function guessedNames(specs: readonly TensorSpec[], ran: readonly ExampleInput[] = []): string[] {
  const isGuess = ({ shape }: TensorSpec, index: number) =>
    shape === undefined ||
    shape.some((size, axis) => (axis > 0 || shape.length === 1) && size === -1 && ran[index]?.shape[axis] !== 1);
  return specs.filter(isGuess).map(({ name }) => name);
}
