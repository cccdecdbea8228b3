import type { ConfigNode } from "../../codecs/config/config-node.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { FieldValues } from "../config/field-table.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { isReshape, type Reshape, reshapeSizes } from "../reshape.ts";
import type { ConfigSource } from "./config-source.ts";
import { pathInside } from "./path-inside.ts";
import { tritonDtype } from "./triton-dtype.ts";
import type { TRITON_FIELDS } from "./triton-fields.ts";

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

/** The model's shape: its reshape overrides it, and where there is a batch, it precedes the dimensions. */
function toSpec(one: TensorFields, table: Pick<TensorTable, "max_batch_size">): TensorSpec {
  const { name, data_type } = one;
  return { name, dtype: tritonDtype(data_type), shape: withBatch(modelDims(one), table) };
}

/** The sizes that an input has in the model, for those with which clients send it; both without the batch. */
export function modelSizes(
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
