import { CancelSource } from "../async/cancel-source.ts";
import type { ExampleInput, ExampleInputs } from "../signature/example-inputs.ts";
import type { LooseSpec, Signature, TensorSpec } from "../signature/signature.ts";
import { createTensors, elementCount, type Tensors } from "../tensor/tensor.ts";
import { attempts } from "./example-attempts.ts";
import { filledTensor } from "./filled-tensor.ts";
import type { ModelHandle } from "./model-handle.ts";

/** After so many milliseconds no other try begins. */
const BUDGET_MS = 2000;
/** For a pipeline that takes any names. */
const ANY: readonly ExampleInput[] = [{ name: "x", dtype: "float32", shape: [3], element: 0 }];
/** Larger inputs are not tried: they would take long, and much memory. */
const MAX_ELEMENTS = 1 << 22;

/**
 * Finds inputs on which a model runs, for the example that people are shown. Sizes that the model leaves open are tried; a model whose runs leave
 * something behind is not run, nor is one that is absent. Never throws: what a failed try says concerns nobody.
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
    if (performance.now() > until) break;
    if (await runs(model, inputs)) return { inputs, ran: true, guessed: guessedNames(list, inputs) };
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

async function runs(model: ModelHandle, inputs: readonly ExampleInput[]): Promise<boolean> {
  const call = { signature: model.defaultSignature, signal: new CancelSource(), deadline: Date.now() + BUDGET_MS };
  const tensors: Tensors = createTensors(inputs.map((input) => [input.name, filledTensor(input)]));
  return model.predict(tensors, call).then(
    () => true,
    () => false,
  );
}

/** Whether a shape or a value that fits has to be looked for. */
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
