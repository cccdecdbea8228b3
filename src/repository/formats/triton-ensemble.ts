import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { FieldTable, FieldValues } from "../config/field-table.ts";
import type { Ensemble, EnsembleStep } from "../ensemble.ts";

const STEP_FIELDS = {
  model_name: { type: "text" },
  model_version: { type: "integer", min: -1 },
  input_map: { type: "pairs", values: { type: "text" } },
  output_map: { type: "pairs", values: { type: "text" } },
  model_namespace: { type: "any", unused: "models have one name in the whole server" },
} as const satisfies FieldTable;

/** The keys of `ensemble_scheduling`. */
export const ENSEMBLE_FIELDS = {
  step: { type: "group", fields: STEP_FIELDS, repeated: true },
  max_inflight_requests: { type: "any", unused: "max-queue bounds the requests of each model" },
} as const satisfies FieldTable;

type Step = FieldValues<typeof STEP_FIELDS>;

/** Keys that belong to the models of an ensemble, or that its steps exclude. */
const KEYS_OF_MODELS = ["instance_group", "optimization", "model_warmup", "dynamic_batching", "sequence_batching"];

/** Platform and backend in the file of an ensemble. */
interface Kind {
  readonly platform?: string | undefined;
  readonly backend?: string | undefined;
}

/** The reason why Triton refuses an ensemble for keys other than its steps; undefined = Triton accepts it. */
export function refusedInEnsemble(
  name: string,
  { platform = "", backend = "" }: Kind,
  node: ConfigNode,
): string | undefined {
  if (platform !== "ensemble" || backend !== "")
    return `the ensemble ${name} has the platform "${platform}" and the backend "${backend}"; expected platform: "ensemble" and no backend`;
  const given = node.kind === "map" ? node.entries.filter(({ value }) => !isEmptyList(value)) : [];
  const key = KEYS_OF_MODELS.find((one) => given.some((entry) => entry.key === one));
  if (key === undefined) return undefined;
  return `the ensemble ${name} has "${key}", which belongs to its models; move it to their config.pbtxt`;
}

function isEmptyList(node: ConfigNode): boolean {
  return node.kind === "list" && node.items.length === 0;
}

/** Tensors that enter an ensemble and leave it. */
type Edges = Pick<Ensemble, "inputs" | "outputs">;

/**
 * The steps of an ensemble in an order in which they can run, or the reason why there is none. As in Triton, an error
 * is also a tensor that two steps produce, that no step produces, or that is not used.
 */
export function readEnsemble(name: string, steps: readonly Step[], edges: Edges): Ensemble | string {
  const problem = problemOf(steps) ?? problemOfTensors(steps.map(toStep), edges);
  if (problem !== undefined) return `the ensemble ${name} ${problem}`;
  const ordered = inOrder(steps.map(toStep), edges.inputs);
  if (typeof ordered !== "string") return { ...edges, steps: ordered };
  return `the ensemble ${name} ${ordered}`;
}

function problemOf(steps: readonly Step[]): string | undefined {
  if (steps.length === 0) return "has no step; expected ensemble_scheduling { step [ … ] }";
  for (const [index, { model_name, input_map, output_map }] of steps.entries()) {
    const step = `step ${index + 1}`;
    if (model_name === undefined) return `has no model_name in ${step}`;
    if (!input_map?.size) return `has no input_map in ${step}, which runs ${model_name}`;
    if (!output_map?.size) return `has no output_map in ${step}, which runs ${model_name}`;
  }
  return undefined;
}

function toStep({ model_name: model = "", model_version: version = -1, input_map, output_map }: Step): EnsembleStep {
  const [inputs, outputs] = [input_map ?? [], output_map ?? []].map(Object.fromEntries);
  return { model, ...(version > 0 && { version }), inputs, outputs };
}

function problemOfTensors(steps: readonly EnsembleStep[], { inputs, outputs }: Edges): string | undefined {
  const given = inputs.map(({ name }) => name);
  const made = [...given, ...steps.flatMap((step) => Object.values(step.outputs))];
  const twice = made.find((tensor, index) => made.indexOf(tensor) !== index);
  if (twice !== undefined) return `makes the tensor "${twice}" more than once; expected one source of each tensor`;
  const taken = [...steps.flatMap((step) => Object.values(step.inputs)), ...outputs.map(({ name }) => name)];
  const missing = taken.find((tensor) => !made.includes(tensor));
  if (missing !== undefined) return `needs the tensor "${missing}", which is not an input and which no step produces`;
  const unused = made.find((tensor) => !taken.includes(tensor));
  return unused === undefined ? undefined : `has the tensor "${unused}", which nothing uses`;
}

/** The steps, each after those whose tensors it takes; a text where some wait for each other. */
function inOrder(steps: readonly EnsembleStep[], inputs: readonly TensorSpec[]): readonly EnsembleStep[] | string {
  const there = new Set(inputs.map(({ name }) => name));
  const ordered: EnsembleStep[] = [];
  let left = [...steps];
  while (left.length > 0) {
    const ready = left.filter((step) => Object.values(step.inputs).every((tensor) => there.has(tensor)));
    if (ready.length === 0) return `has steps that wait for one another: ${left.map(({ model }) => model).join(", ")}`;
    for (const step of ready) for (const tensor of Object.values(step.outputs)) there.add(tensor);
    ordered.push(...ready);
    left = left.filter((step) => !ready.includes(step));
  }
  return ordered;
}
