import { join } from "node:path";
import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { FieldValues } from "../config/field-table.ts";
import type { SampleInput, WarmUpEntry } from "../warm-up/warm-up-entry.ts";
import type { ConfigSource } from "./config-source.ts";
import { pathInside } from "./path-inside.ts";
import { tritonDtype } from "./triton-dtype.ts";
import type { TRITON_FIELDS, WARMUP_INPUT_FIELDS } from "./triton-fields.ts";
import { modelSizes } from "./triton-tensors.ts";

type WarmUpTable = Pick<FieldValues<typeof TRITON_FIELDS>, "model_warmup" | "max_batch_size" | "input">;
type WarmUpFields = NonNullable<WarmUpTable["model_warmup"]>[number];

/** The file, and where it was found. */
interface Read {
  readonly node: ConfigNode;
  readonly source: ConfigSource;
}

/** The samples of `model_warmup` as requests; Triton skips those of batch 0. */
export function readTritonWarmUp(table: WarmUpTable, read: Read): { readonly warmUp?: readonly WarmUpEntry[] } {
  const samples = (table.model_warmup ?? []).filter(({ batch_size: size = 0 }) => size > 0);
  if (samples.length === 0) return {};
  return { warmUp: samples.map((sample) => toSample(sample, table, read)) };
}

/** Without batching, a sample of batch N is sent as N requests. */
function toSample({ name = "", batch_size: size = 0, inputs, count }: WarmUpFields, table: WarmUpTable, read: Read) {
  const { max_batch_size: maxRows = 0 } = table;
  const rows = maxRows > 0 ? size : 1;
  const sampleInputs = Array.from(inputs ?? [], ([input, { data_type: type, dims = [], ...values }]) => ({
    name: input,
    dtype: tritonDtype(type),
    shape: [...(maxRows > 0 ? [rows] : []), ...modelSizes(input, dims, table)],
    rows,
    values: toValues(input, values, read),
  }));
  return { kind: "sample", name, inputs: sampleInputs, count: (count || 1) * (maxRows > 0 ? 1 : size) } as const;
}

/** Folder of the files of warm-up inputs. */
const WARMUP_FOLDER = "warmup";

type WarmUpValues = Pick<FieldValues<typeof WARMUP_INPUT_FIELDS>, "zero_data" | "random_data" | "input_data_file">;

/** Files outside the model's folder are not read. */
function toValues(input: string, given: WarmUpValues, { node, source }: Read): SampleInput["values"] {
  const { zero_data: zero, random_data: random, input_data_file: file } = given;
  if (file !== undefined) {
    const path = pathInside(join(source.folder, WARMUP_FOLDER), file);
    if (path !== undefined) return { path };
    source.findings.error(
      node.place,
      `The warm-up file "${file}" does not lie in the model's folder ${WARMUP_FOLDER}.`,
    );
  } else if (zero === undefined && random === undefined) {
    const expected = "zero_data, random_data or input_data_file";
    source.findings.error(node.place, `The warm-up input "${input}" has no values; expected ${expected}.`);
  }
  return random === undefined ? "zero" : "random";
}
