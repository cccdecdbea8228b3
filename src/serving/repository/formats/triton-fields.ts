import type { Ensemble, EnsembleStep } from "../../../pipeline/implied-hooks.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { TensorSpec } from "../../../tensor/signature/signature.ts";
import type { FieldTable, FieldValues } from "../config/field-table.ts";
import { VERSION_POLICY_FIELDS } from "../config/versions.ts";

const DTYPES = "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 FP32 FP64 STRING BF16".split(" ");
const DATA_TYPE = { type: "choice", choices: DTYPES.map((name) => `TYPE_${name}`) } as const;
const DIMS = { type: "integer", min: -1, repeated: true } as const;

const TENSOR_FIELDS = {
  name: { type: "text", required: true },
  data_type: { ...DATA_TYPE, required: true },
  dims: DIMS,
  reshape: { type: "group", fields: { shape: DIMS } },
  is_shape_tensor: { type: "any", unused: "the runtime knows what an input is for" },
  is_non_linear_format_io: { type: "any", unused: "tensors are sent row by row" },
} as const;

const INPUT_FIELDS = {
  ...TENSOR_FIELDS,
  format: { type: "choice", choices: ["FORMAT_NONE", "FORMAT_NHWC", "FORMAT_NCHW"] },
  allow_ragged_batch: { type: "any", unused: "rows of other shapes are not put into one batch" },
  optional: { type: "any", unused: "the model's own signature says which inputs it needs" },
} as const;

const OUTPUT_FIELDS = {
  ...TENSOR_FIELDS,
  label_filename: { type: "text" },
} as const;

const NO_ORDER = "answers go out as they are ready";

const DYNAMIC_BATCHING_FIELDS = {
  preferred_batch_size: { type: "any", unused: "whatever waits goes together, up to max_batch_size" },
  max_queue_delay_microseconds: { type: "integer", min: 0 },
  preserve_ordering: { type: "any", unused: NO_ORDER },
  priority_levels: { type: "any", unused: "a request's priority counts without" },
  default_priority_level: { type: "any", unused: "a request's priority counts without" },
  default_queue_policy: { type: "any", unused: "--max-queue and --request-timeout bound the queue of all models" },
  priority_queue_policy: { type: "any", unused: "--max-queue and --request-timeout bound the queue of all models" },
} as const;

const OF_DEVICE = "the driver's own options say which device it takes";

const INSTANCE_GROUP_FIELDS = {
  count: { type: "integer", min: 0 },
  kind: {
    type: "choice",
    choices: ["KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"],
    unusedChoices: { KIND_GPU: OF_DEVICE },
  },
  name: { type: "any" },
  gpus: { type: "any", unused: OF_DEVICE },
  rate_limiter: { type: "any", unused: "runs are not held back for other models" },
  secondary_devices: { type: "any", unused: OF_DEVICE },
  profile: { type: "any", unused: "it is for TensorRT" },
  passive: { type: "any", unused: "each copy runs requests" },
  host_policy: { type: "any", unused: "there are no host policies" },
} as const;

/** The keys of one input of `model_warmup`. */
export const WARMUP_INPUT_FIELDS = {
  data_type: { ...DATA_TYPE, required: true },
  dims: { type: "integer", min: 0, repeated: true },
  zero_data: { type: "boolean" },
  random_data: { type: "boolean" },
  input_data_file: { type: "text" },
} as const;

const WARMUP_FIELDS = {
  name: { type: "text" },
  batch_size: { type: "integer", min: 0 },
  inputs: { type: "pairs", values: { type: "group", fields: WARMUP_INPUT_FIELDS } },
  count: { type: "integer", min: 0 },
} as const;

const STEP_FIELDS = {
  model_name: { type: "text" },
  model_version: { type: "integer", min: -1 },
  input_map: { type: "pairs", values: { type: "text" } },
  output_map: { type: "pairs", values: { type: "text" } },
  model_namespace: { type: "any", unused: "models have one name in the whole server" },
} as const satisfies FieldTable;

/** The keys of `ensemble_scheduling`. */
const ENSEMBLE_FIELDS = {
  step: { type: "group", fields: STEP_FIELDS, repeated: true },
  max_inflight_requests: { type: "integer", min: 0 },
} as const satisfies FieldTable;

/**
 * The keys of Triton's config.pbtxt:
 * https://github.com/triton-inference-server/common/blob/main/protobuf/model_config.proto
 */
export const TRITON_FIELDS = {
  name: { type: "text" },
  platform: { type: "text" },
  backend: { type: "text" },
  runtime: { type: "any", unused: "the driver finds its runtime" },
  version_policy: { type: "group", fields: VERSION_POLICY_FIELDS },
  max_batch_size: { type: "integer", min: 0 },
  input: { type: "group", fields: INPUT_FIELDS, repeated: true },
  output: { type: "group", fields: OUTPUT_FIELDS, repeated: true },
  batch_input: { type: "any", unused: "a batch has no inputs of its own" },
  batch_output: { type: "any", unused: "a batch has no outputs of its own" },
  optimization: { type: "any", unused: "the driver's own options say how a model is optimized" },
  dynamic_batching: { type: "group", fields: DYNAMIC_BATCHING_FIELDS },
  sequence_batching: { type: "any" },
  ensemble_scheduling: { type: "group", fields: ENSEMBLE_FIELDS },
  instance_group: { type: "group", fields: INSTANCE_GROUP_FIELDS, repeated: true },
  default_model_filename: { type: "text" },
  cc_model_filenames: { type: "any", unused: "default_model_filename names the file" },
  metric_tags: { type: "any", unused: "metrics have no tags" },
  parameters: { type: "pairs", values: { type: "group", fields: { string_value: { type: "any" } } } },
  model_warmup: { type: "group", fields: WARMUP_FIELDS, repeated: true },
  model_operations: { type: "group", fields: { op_library_filename: { type: "text", repeated: true } } },
  model_transaction_policy: { type: "group", fields: { decoupled: { type: "boolean" } } },
  model_repository_agents: { type: "any", unused: "models are taken as they lie there" },
  response_cache: { type: "any", unused: "answers are not kept" },
  model_metrics: { type: "any", unused: "metrics have one form for all models" },
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

/** The field `ensemble_scheduling` of an ensemble. */
type Scheduling = FieldValues<typeof ENSEMBLE_FIELDS>;

/**
 * The steps of an ensemble in an order in which they can run, or the reason why there is none. As in Triton, an error
 * is also a tensor that two steps produce, that no step produces, or that is not used.
 */
export function readEnsemble(name: string, scheduling: Scheduling, edges: Edges): Ensemble | string {
  const { step: steps = [], max_inflight_requests: maxInflight = 0 } = scheduling;
  const problem = problemOf(steps) ?? problemOfTensors(steps.map(toStep), edges);
  if (problem !== undefined) return `the ensemble ${name} ${problem}`;
  const ordered = inOrder(steps.map(toStep), edges.inputs);
  if (typeof ordered !== "string") return { ...edges, steps: ordered, ...(maxInflight > 0 && { maxInflight }) };
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

/** The steps, each after those whose tensors it takes; a text if some wait for each other. */
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
