import { isAbsolute, join, sep } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { isReshape, type Reshape, reshapeSizes } from "../../../pipeline/implied-hooks.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { DType } from "../../../tensor/dtype.ts";
import type { TensorSpec } from "../../../tensor/signature/signature.ts";
import type { ConfigSource } from "../config/config-source.ts";
import type { FieldValues } from "../config/field-table.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { SampleInput, WarmUpEntry } from "../warm-up/warm-up-entry.ts";
import type { TRITON_FIELDS, WARMUP_INPUT_FIELDS } from "./triton-fields.ts";

/** The inputs and outputs of a config.pbtxt, and its batch size. */
type TensorTable = Pick<FieldValues<typeof TRITON_FIELDS>, "input" | "output" | "max_batch_size" | "platform">;
type TensorFields = NonNullable<TensorTable["input"]>[number] | NonNullable<TensorTable["output"]>[number];

/** The file, and where it was found. */
interface Read {
  readonly node: ConfigNode;
  readonly source: ConfigSource;
}

/** Parts of a model's configuration that are about its tensors. */
type TensorConfig = Required<Pick<ModelConfig, "expected">> &
  Pick<ModelConfig, "imageLayouts" | "labelFiles" | "reshaping">;

/**
 * Reads what the inputs and outputs say of the model's signature, of its classes'
 * names and of the shapes that clients see.
 */
export function readTritonTensors(fields: TensorTable, read: Read): TensorConfig {
  const { input = [], output = [] } = fields;
  const toModelSpec = (one: TensorFields) => toSpec(one, fields);
  const imageLayouts = layoutsOf(input);
  return {
    expected: { inputs: input.map(toModelSpec), outputs: output.map(toModelSpec) },
    ...(imageLayouts.size > 0 && { imageLayouts }),
    ...labelFilesOf(fields, read),
    ...reshapingOf(fields, read),
  };
}

/** The model's shape: its reshape overrides it, and if there is a batch, it precedes the dimensions. */
function toSpec(one: TensorFields, table: Pick<TensorTable, "max_batch_size">): TensorSpec {
  const { name, data_type } = one;
  return { name, dtype: tritonDtype(data_type), shape: withBatch(modelDims(one), table) };
}

/** The sizes that an input has in the model, for those with which clients send it; both without the batch. */
function modelSizes(
  input: string,
  sizes: readonly number[],
  { input: inputs = [] }: Pick<TensorTable, "input">,
): readonly number[] {
  const one = inputs.find(({ name }) => name === input);
  return one?.reshape === undefined ? sizes : reshapeSizes(sizes, { from: one.dims ?? [], to: modelDims(one) });
}

function modelDims({ dims = [], reshape }: TensorFields): readonly number[] {
  return reshape?.shape ?? (reshape === undefined ? dims : []);
}

function withBatch(dims: readonly number[], { max_batch_size: rows = 0 }: Pick<TensorTable, "max_batch_size">) {
  return rows > 0 ? [-1, ...dims] : dims;
}

/**
 * A frozen graph and TorchScript do not describe their own inputs and outputs; images have the layout of their input.
 */
export function tensorOptions(fields: TensorTable, driver: string | undefined): RawOptions {
  return { ...namesOf(fields, driver), ...layoutOf(fields) };
}

function namesOf(fields: TensorTable, driver: string | undefined): RawOptions {
  const { input = [], output = [], platform } = fields;
  if (input.length === 0 || output.length === 0) return {};
  const outputs = output.map(({ name }) => name).join(",");
  if (platform === "tensorflow_graphdef") return { inputs: input.map(({ name }) => name).join(","), outputs };
  if (driver !== "pytorch") return {};
  const inputs = input.map((one) => {
    const { name, dtype, shape = [] } = toSpec(one, fields);
    return `${name}:${dtype}[${shape.join(",")}]`;
  });
  return { inputs: inputs.join(","), outputs };
}

/** Rank of an input that takes encoded images. */
const IMAGE_RANK = 4;

/** The layout of encoded images, unless it differs between inputs. */
function layoutOf(fields: TensorTable): RawOptions {
  const ofImages = (fields.input ?? []).filter((one) => toSpec(one, fields).shape?.length === IMAGE_RANK);
  const [layout, other] = new Set(layoutsOf(ofImages).values());
  return layout === undefined || other !== undefined ? {} : { layout };
}

function layoutsOf(inputs: NonNullable<TensorTable["input"]>): Map<string, "NHWC" | "NCHW"> {
  return new Map(
    inputs.flatMap(({ name, format }) => {
      const layout = format?.slice("FORMAT_".length);
      return layout === "NHWC" || layout === "NCHW" ? [[name, layout] as const] : [];
    }),
  );
}

function labelFilesOf({ output = [] }: TensorTable, { node, source }: Read): Pick<ModelConfig, "labelFiles"> {
  const files = new Map<string, string>();
  for (const { name, label_filename: file } of output) {
    if (file === undefined) continue;
    const path = pathInside(source.folder, file);
    if (path !== undefined) files.set(name, path);
    else source.findings.error(node.place, `The label_filename "${file}" does not lie in the model's folder.`);
  }
  return files.size === 0 ? {} : { labelFiles: files };
}

/** Clients send the dims, and the model gets the reshape of these. */
function reshapingOf(fields: TensorTable, read: Read): Pick<ModelConfig, "reshaping"> {
  const { input = [], output = [] } = fields;
  if ([...input, ...output].every(({ reshape }) => reshape === undefined)) return {};
  const toClientSpec = (one: TensorFields) => ({ ...toSpec(one, fields), shape: withBatch(one.dims ?? [], fields) });
  const toReshape = (one: TensorFields) => {
    const [from, to] = [withBatch(one.dims ?? [], fields), withBatch(modelDims(one), fields)];
    if (!isReshape({ from, to })) reportShape(one, read);
    return { from, to };
  };
  const reversed = ({ from, to }: Reshape) => ({ from: to, to: from });
  return {
    reshaping: {
      inputs: input.map(toClientSpec),
      outputs: output.map(toClientSpec),
      ofInputs: new Map(input.map((one) => [one.name, toReshape(one)])),
      ofOutputs: new Map(output.map((one) => [one.name, reversed(toReshape(one))])),
    },
  };
}

function reportShape({ name, dims = [], reshape }: TensorFields, { node, source }: Read): void {
  const shape = reshape?.shape ?? [];
  source.findings.error(
    node.place,
    `"${name}" has dims [${dims.join(", ")}] and a reshape to [${shape.join(", ")}]; expected as many elements, and as many sizes of -1.`,
  );
}

type WarmUpTable = Pick<FieldValues<typeof TRITON_FIELDS>, "model_warmup" | "max_batch_size" | "input">;
type WarmUpFields = NonNullable<WarmUpTable["model_warmup"]>[number];

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

const DTYPES: Readonly<Record<string, DType>> = {
  TYPE_FP16: "float16",
  TYPE_FP32: "float32",
  TYPE_FP64: "float64",
  TYPE_BF16: "bfloat16",
  TYPE_STRING: "bytes",
};

/** The dtype of a type of config.pbtxt: `TYPE_FP32`. */
function tritonDtype(type: string): DType {
  return DTYPES[type] ?? (type.replace("TYPE_", "").toLowerCase() as DType);
}

/** The path of a file that a configuration names in a folder; undefined for a name that leads out of it. */
function pathInside(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  const isInside = !isAbsolute(name) && path.startsWith(`${folder}${sep}`) && !name.includes("\0");
  return isInside ? path : undefined;
}
