import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A TensorFlow.js graph model in memory. */
export interface TfjsModel {
  /** In the order in which they can run. */
  readonly nodes: readonly TfNode[];
  readonly weights: ReadonlyMap<string, Weight>;
}

/** One operator. */
export interface TfNode {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, TfAttribute>>;
}

/** protobuf's JSON form: 64-bit integers as text, bytes as base64. */
export interface TfAttribute {
  readonly s?: string;
  readonly b?: boolean;
  readonly list?: { readonly i?: readonly string[]; readonly s?: readonly string[] };
  readonly shape?: { readonly dim: readonly { readonly size: string }[] };
}

/** A constant tensor in row-major order. */
export interface Weight {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
}

/**
 * Reads `model.json` and the weight files beside it; throws for weights that are
 * quantized or of another type than float32 and int32.
 */
export async function loadTfjsModel(path: string): Promise<TfjsModel> {
  const { modelTopology, weightsManifest }: ModelFile = JSON.parse(await readFile(path, "utf8"));
  const weights = new Map<string, Weight>();
  for (const group of weightsManifest) {
    const bytes = Buffer.concat(await Promise.all(group.paths.map((file) => readFile(join(dirname(path), file)))));
    let offset = 0;
    for (const spec of group.weights) {
      const weight = readWeight(spec, bytes, offset);
      offset += weight.data.byteLength;
      weights.set(spec.name, weight);
    }
  }
  return { nodes: modelTopology.node, weights };
}

/** A node's attribute; throws where it has none of that name. */
export function attribute(node: TfNode, name: string): TfAttribute {
  const value = node.attr?.[name];
  if (value === undefined) throw new Error(`Node ${node.name} has no attribute ${name}.`);
  return value;
}

/** The texts of a list attribute, none where it is absent. */
export function texts(node: TfNode, name: string): string[] {
  return (node.attr?.[name]?.list?.s ?? []).map(fromBase64);
}

/** A text attribute. */
export function text(node: TfNode, name: string): string {
  return fromBase64(attribute(node, name).s ?? "");
}

/** Height and width of an NHWC list attribute such as `strides`. */
export function spatial(node: TfNode, name: string): number[] {
  return (attribute(node, name).list?.i ?? []).slice(1, 3).map(Number);
}

interface ModelFile {
  readonly modelTopology: { readonly node: readonly TfNode[] };
  readonly weightsManifest: readonly { readonly paths: readonly string[]; readonly weights: readonly WeightSpec[] }[];
}

interface WeightSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly quantization?: unknown;
}

function readWeight({ name, shape, dtype, quantization }: WeightSpec, bytes: Buffer, offset: number): Weight {
  if (quantization !== undefined || (dtype !== "float32" && dtype !== "int32")) {
    throw new Error(`Weight ${name} is ${dtype}${quantization ? ", quantized" : ""}; expected plain float32 or int32.`);
  }
  const count = shape.reduce((product, dimension) => product * dimension, 1);
  const copy = Uint8Array.from(bytes.subarray(offset, offset + 4 * count)).buffer;
  return { shape, data: dtype === "int32" ? new Int32Array(copy) : new Float32Array(copy) };
}

function fromBase64(encoded: string): string {
  return Buffer.from(encoded, "base64").toString();
}
