import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { readFields } from "../config/read-fields.ts";
import type { ConfigSource } from "./config-source.ts";

/** Form of a number that may be absent in protobuf's text format. */
const WRAPPED = { type: "group", fields: { value: { type: "integer", min: 0 } } } as const;
const ONE_THREAD_A_COPY = "each copy of a model runs one batch after the other; --instances says how many copies";

/** The keys of a `batching_parameters_file`. */
export const BATCHING_FIELDS = {
  max_batch_size: WRAPPED,
  batch_timeout_micros: WRAPPED,
  allowed_batch_sizes: { type: "integer", min: 1, repeated: true },
  pad_variable_length_inputs: { type: "boolean" },
  num_batch_threads: { type: "any", unused: ONE_THREAD_A_COPY },
  max_enqueued_batches: { type: "any", unused: "--max-queue bounds the requests of all models" },
  thread_pool_name: { type: "any", unused: "there is no pool to name" },
  enable_large_batch_splitting: { type: "any", unused: "a request's rows stay together" },
  max_execution_batch_size: { type: "any", unused: "a request's rows stay together" },
} as const;

/** TensorFlow Serving's default. */
const DEFAULT_MAX_BATCH_SIZE = 1000;

/** Reads TensorFlow Serving's `batching_parameters_file` as `-o` options. */
export function readBatchingParameters(node: ConfigNode, source: ConfigSource): RawOptions {
  const fields = readFields(node, BATCHING_FIELDS, { ...source, whose: "The batching_parameters_file" }) ?? {};
  const { allowed_batch_sizes: allowed = [], pad_variable_length_inputs: pad } = fields;
  return {
    max_batch_size: String(fields.max_batch_size?.value ?? DEFAULT_MAX_BATCH_SIZE),
    batch_timeout_us: String(fields.batch_timeout_micros?.value ?? 0),
    ...(allowed.length > 0 && { allowed_batch_sizes: allowed.join(",") }),
    ...(pad !== undefined && { pad_variable_length_inputs: String(pad) }),
  };
}
