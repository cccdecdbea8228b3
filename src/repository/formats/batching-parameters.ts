import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import type { FieldValues } from "../config/field-table.ts";
import { readFields } from "../config/read-fields.ts";
import type { ConfigSource } from "./config-source.ts";

/** Form of a number that may be absent in protobuf's text format. */
const WRAPPED = { type: "group", fields: { value: { type: "integer", min: 0 } } } as const;
const ONE_THREAD_A_COPY = "each copy of a model runs one batch after the other; --instances says how many copies";

/** The keys of a `batching_parameters_file`. */
export const BATCHING_FIELDS = {
  max_batch_size: WRAPPED,
  max_execution_batch_size: WRAPPED,
  enable_large_batch_splitting: { type: "group", fields: { value: { type: "boolean" } } },
  max_enqueued_batches: WRAPPED,
  batch_timeout_micros: WRAPPED,
  allowed_batch_sizes: { type: "integer", min: 1, repeated: true },
  pad_variable_length_inputs: { type: "boolean" },
  num_batch_threads: { type: "any", unused: ONE_THREAD_A_COPY },
  thread_pool_name: { type: "any", unused: "there is no pool to name" },
} as const;

/** TensorFlow Serving's defaults. */
const DEFAULTS = { maxRows: 1000, maxWaitingBatches: 10 } as const;

/** Values of these keys. */
type BatchingFields = FieldValues<typeof BATCHING_FIELDS>;

/** Reads TensorFlow Serving's `batching_parameters_file` as `-o` options. */
export function readBatchingParameters(node: ConfigNode, source: ConfigSource): RawOptions {
  return batchingOptions(readFields(node, BATCHING_FIELDS, { ...source, whose: "The batching_parameters_file" }) ?? {});
}

/** The `-o` options for these values, with that server's defaults. */
export function batchingOptions(fields: BatchingFields): RawOptions {
  const { pad_variable_length_inputs: pad } = fields;
  const requestRows = fields.max_batch_size?.value ?? DEFAULTS.maxRows;
  const { rows, allowed } = rowsOfRun(fields, requestRows);
  return {
    max_batch_size: String(rows),
    max_request_rows: String(requestRows),
    max_enqueued_batches: String(fields.max_enqueued_batches?.value ?? DEFAULTS.maxWaitingBatches),
    batch_timeout_us: String(fields.batch_timeout_micros?.value ?? 0),
    ...(allowed.length > 0 && { allowed_batch_sizes: allowed.join(",") }),
    ...(pad !== undefined && { pad_variable_length_inputs: String(pad) }),
  };
}

/**
 * The rows of a run: those of a request, or fewer where larger requests are split; then as many as these are padded to.
 */
function rowsOfRun(fields: BatchingFields, requestRows: number) {
  const { allowed_batch_sizes: allowed = [], max_execution_batch_size: execution } = fields;
  if (fields.enable_large_batch_splitting?.value !== true) return { rows: requestRows, allowed };
  const wanted = Math.min(execution?.value ?? requestRows, requestRows);
  const rows = allowed.find((size) => size >= wanted) ?? wanted;
  return { rows, allowed: allowed.filter((size) => size <= rows) };
}
