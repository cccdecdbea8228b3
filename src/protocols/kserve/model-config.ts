import { hasBatchedModel, maxBatchSize, type ServableDescription } from "../../serving/servable-description.ts";
import { type TensorSpec, toSize } from "../../tensor/signature/signature.ts";
import { datatypeOf } from "./datatype.ts";
import { defaultSignature, platformOf } from "./model-metadata.ts";

/** Content of ModelConfig and `GET /v2/models/NAME/config`, with the field names of inference.ModelConfig. */
export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly version_policy: { readonly latest: { readonly num_versions: number } };
  /** 0: dims have every dimension. Otherwise dims do not include the first one, the batch. */
  readonly max_batch_size: number;
  /** Present if requests are put together. */
  readonly dynamic_batching?: object;
  readonly input: readonly ConfigInput[];
  readonly output: readonly ConfigOutput[];
  /** Those of its config.pbtxt; absent = it has none. */
  readonly parameters?: Readonly<Record<string, { readonly string_value: string }>>;
  readonly model_transaction_policy: { readonly decoupled: boolean };
}

interface ConfigOutput {
  readonly name: string;
  readonly data_type: string;
  readonly dims: readonly number[];
}

interface ConfigInput extends ConfigOutput {
  /** Layout of images, for clients that preprocess them themselves. */
  readonly format?: "FORMAT_NHWC" | "FORMAT_NCHW";
  readonly optional: boolean;
}

/** A model's configuration as Triton's clients read it. */
export function modelConfig(description: ServableDescription): ModelConfig {
  const { inputs = [], outputs = [] } = defaultSignature(description);
  const isKnown = inputs.length > 0 && [...inputs, ...outputs].every(hasOpenBatch);
  const rows = isKnown ? maxBatchSize(description) : 0;
  const isDynamic = rows > 0 && hasBatchedModel(description);
  const toTensor = (spec: TensorSpec) => toConfig(spec, rows > 0);
  return {
    name: description.model,
    platform: platformOf(description),
    backend: description.drivers.join(","),
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: rows,
    ...(isDynamic && { dynamic_batching: {} }),
    input: inputs.map((spec) => ({
      ...toTensor(spec),
      ...(spec.imageLayout && { format: `FORMAT_${spec.imageLayout}` as const }),
      optional: spec.default !== undefined,
    })),
    output: outputs.map(toTensor),
    ...parametersOf(description),
    model_transaction_policy: { decoupled: description.decoupled === true },
  };
}

function parametersOf({ configured }: ServableDescription): Pick<ModelConfig, "parameters"> {
  const { parameters = new Map() } = configured ?? {};
  if (parameters.size === 0) return {};
  const entries = [...parameters].map(([name, text]) => [name, { string_value: text }] as const);
  return { parameters: Object.fromEntries(entries) };
}

/** Checks that the first dimension is open, as the batch is. */
function hasOpenBatch({ shape }: TensorSpec): boolean {
  return shape?.[0] === -1;
}

function toConfig({ name, dtype, shape = [-1] }: TensorSpec, leavesBatchOut: boolean): ConfigOutput {
  const dims = shape.slice(leavesBatchOut ? 1 : 0).map(toSize);
  return { name, data_type: datatypeOf(dtype)?.configName ?? "TYPE_INVALID", dims };
}
