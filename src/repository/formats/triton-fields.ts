import type { FieldTable } from "../config/field-table.ts";
import { ENSEMBLE_FIELDS } from "./triton-ensemble.ts";
import { VERSION_POLICY_FIELDS } from "./version-policy-fields.ts";

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
