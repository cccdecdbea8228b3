import type { io } from "@tensorflow/tfjs-core";
import { failedPrecondition } from "../../../errors.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { type DataTypeName, dataTypeNumber, toDType } from "../saved-model/data-type.ts";

/** An input or output, and what the graph model calls it. */
export interface GraphTensor extends TensorSpec {
  /** A key of the model's own signature, or a node. */
  readonly key: string;
}

/** Inputs and outputs of a graph model. */
export interface GraphSignature {
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
}

/** protobuf's JSON forms of what is read here. */
interface SignatureJson {
  readonly inputs?: Readonly<Record<string, TensorInfoJson>>;
  readonly outputs?: Readonly<Record<string, TensorInfoJson>>;
}

interface TensorInfoJson {
  readonly dtype?: string;
  readonly tensorShape?: ShapeJson;
  /** Given by the model itself: a variable or a table. */
  readonly resourceId?: number;
}

interface ShapeJson {
  readonly dim?: readonly { readonly size?: string | number }[];
  readonly unknownRank?: boolean;
}

interface NodeJson {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, { readonly type?: string; readonly shape?: ShapeJson }>>;
}

/**
 * Inputs and outputs of a graph model: by the signature that the converter wrote, else by its placeholders and the
 * nodes that no other takes. Names go without `:0`. Throws `failed_precondition` for a tensor of a type that cannot be
 * served.
 */
export function readGraphSignature({
  signature,
  userDefinedMetadata,
  modelTopology,
}: io.ModelArtifacts): GraphSignature {
  const written = (signature ?? userDefinedMetadata?.signature) as SignatureJson | undefined;
  if (written?.inputs !== undefined && written.outputs !== undefined) {
    return { inputs: toTensors("Input", written.inputs), outputs: toTensors("Output", written.outputs) };
  }
  return fromNodes((modelTopology as { node?: readonly NodeJson[] }).node ?? []);
}

function toTensors(role: string, tensors: Readonly<Record<string, TensorInfoJson>>): GraphTensor[] {
  const given = Object.entries(tensors).filter(([, { resourceId }]) => resourceId === undefined);
  return given.map(([key, { dtype, tensorShape }]) => ({
    ...toSpec(role, key.replace(/:0$/, ""), dtype, tensorShape),
    key,
  }));
}

/** Types of outputs are not written at all nodes: those of unknown ones are float32, as nearly all are. */
function fromNodes(nodes: readonly NodeJson[]): GraphSignature {
  const taken = new Set(nodes.flatMap(({ input = [] }) => input.map((name) => name.replace(/^\^|:\d+$/g, ""))));
  const inputs = nodes.filter(({ op }) => op === "Placeholder" || op === "PlaceholderWithDefault");
  const outputs = nodes.filter(({ name, op }) => !taken.has(name) && op !== "Const" && op !== "NoOp");
  const toTensor = (role: string, { name, attr = {} }: NodeJson): GraphTensor => {
    const dtype = (attr.dtype ?? attr.T)?.type;
    return { ...toSpec(role, name, dtype, role === "Input" ? attr.shape?.shape : undefined), key: name };
  };
  return {
    inputs: inputs.map((node) => toTensor("Input", node)),
    outputs: outputs.map((node) => toTensor("Output", node)),
  };
}

function toSpec(role: string, name: string, type = "DT_FLOAT", shape?: ShapeJson): TensorSpec {
  const dtype = toOurDType(type);
  if (dtype === undefined || dtype.startsWith("complex")) {
    throw failedPrecondition(`${role} "${name}" of the model is ${type}, which cannot be served from a model.json.`);
  }
  return { name, dtype, ...(shape && !shape.unknownRank && { shape: toShape(shape) }) };
}

/** protobuf's JSON has an enum's name, or its number. */
function toOurDType(type: string): DType | undefined {
  const number = /^\d+$/.test(type) ? Number(type) : dataTypeNumber(type.slice("DT_".length) as DataTypeName);
  return toDType(number);
}

function toShape({ dim = [] }: ShapeJson): number[] {
  return dim.map(({ size }) => Number(size ?? 0));
}
