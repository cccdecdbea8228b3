import type { GraphModel as ConverterModel } from "@tensorflow/tfjs-converter";
import type { io } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { failedPrecondition, invalidArgument, publicText, ServingError } from "../../../errors.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { createRecord } from "../../../tensor/record.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { Model } from "../../driver.ts";
import { describeInputs, isShapeFault } from "../../run-failure.ts";
import { type DataTypeName, dataTypeNumber, toDType } from "../saved-model/data-type.ts";
import { exclusively, runScoped } from "./exclusive-run.ts";
import { fromTfjsTensor, refuseEmpty, toTfjsTensor } from "./tfjs-tensor.ts";

/** A graph model whose files were read before. */
export type GraphModel = ConverterModel<io.IOHandlerSync>;

/** Operators that tfjs-converter runs only with its asynchronous executor. */
const ASYNCHRONOUS =
  /^(Switch|Merge|Enter|Exit|NextIteration|(Stateless)?(If|While)|NonMaxSuppressionV\d|Where|HashTable(V2)?|LookupTable.*)$/;

/** A node as tfjs-converter understands it; `category` is missing for an operator that it does not know. */
export interface GraphNode {
  readonly name: string;
  readonly op: string;
  readonly category?: string;
}

/** Serves a graph model of TensorFlow.js, which it takes over: closing frees it. */
export function createGraphModel(
  model: GraphModel,
  { inputs, outputs }: GraphSignature,
  nodes: readonly GraphNode[],
): Model {
  const isAsynchronous = nodes.some(({ op }) => ASYNCHRONOUS.test(op));
  return {
    signatures: { [DEFAULT_SIGNATURE]: { inputs: inputs.map(withoutKey), outputs: outputs.map(withoutKey) } },
    isPure: true,
    copiesInputs: true,
    hookArgs: {
      driver: "tensorflow",
      model_inputs: Object.fromEntries(inputs.map(({ name, shape = [] }) => [name, shape])),
      model_outputs: outputs.map(({ name }) => name),
    },
    predict: async (tensors, { outputs: wanted, signal, deadlineMs }) => {
      if (signal.aborted) throw ServingError.from(signal.reason);
      refuseEmpty(tensors);
      const chosen = outputs.filter(({ name }) => wanted?.includes(name) ?? true);
      const feeds = toFeeds(tensors, inputs);
      const run = isAsynchronous ? runAsynchronously : runAtOnce;
      try {
        return await run(model, feeds, { outputs: chosen, timeoutMs: deadlineMs });
      } catch (cause) {
        if (cause instanceof ServingError) throw cause;
        throw toRunError(cause, tensors, inputs);
      } finally {
        tf.dispose(feeds);
      }
    },
    close: async () => model.dispose(),
  };
}

/** Outputs and limits of a run. */
interface RunRequest {
  readonly outputs: readonly GraphTensor[];
  readonly timeoutMs: number | undefined;
}

type Run = (model: GraphModel, feeds: tf.NamedTensorMap, request: RunRequest) => Promise<Tensors>;

const runAtOnce: Run = async (model, feeds, { outputs }) => {
  let tensors = createTensors();
  // What a tidy returns is searched for tensors, element by element.
  tf.tidy(() => {
    tensors = toTensors(outputs, [model.execute(feeds, keysOf(outputs))].flat());
  });
  return tensors;
};

const runAsynchronously: Run = (model, feeds, { outputs, timeoutMs }) =>
  exclusively(() =>
    runScoped(
      async () => [await model.executeAsync(feeds, keysOf(outputs))].flat(),
      (results) => toTensors(outputs, results),
      timeoutMs,
    ),
  );

/** Texts of TensorFlow.js for values that an operator does not take. */
const VALUES = /must be (>=|greater|positive|non-negative|an integer)|invalid indices|out of (bounds|range)/i;

/** The executor fails in some loops of TensorFlow 1's kind, which the converter creates by default. */
function toRunError(cause: unknown, tensors: Tensors, inputs: readonly TensorSpec[]): ServingError {
  const text = publicText(cause);
  const hint = text.startsWith("Cannot compute the outputs")
    ? " If the model has loops, convert it with --control_flow_v2=True."
    : "";
  // A RangeError is of an array that cannot be made, whose size then came from values.
  if (isShapeFault(text, inputs) || cause instanceof RangeError || VALUES.test(text)) {
    const message = `The model failed: ${text.replace(/\.$/, "")}. ${describeInputs(tensors)}`;
    return invalidArgument(message, cause);
  }
  return new ServingError("internal", `The model failed: ${text}${hint}`, { cause });
}

function keysOf(outputs: readonly GraphTensor[]): string[] {
  return outputs.map(({ key }) => key);
}

function withoutKey({ key: _, ...spec }: GraphTensor) {
  return spec;
}

function toFeeds(tensors: Tensors, inputs: readonly GraphTensor[]): tf.NamedTensorMap {
  const feeds: tf.NamedTensorMap = createRecord();
  for (const { key, name } of inputs) feeds[key] = toFeed(tensors[name]!, name);
  return feeds;
}

function toFeed(tensor: Tensor, name: string): tf.Tensor {
  if (tensor.dtype !== "bytes") return toTfjsTensor(tensor, `Input "${name}"`);
  return tf.tensor([...tensor.data] as unknown as string[], [...tensor.shape], "string");
}

function toTensors(outputs: readonly GraphTensor[], results: readonly tf.Tensor[]): Tensors {
  return createTensors(outputs.map((output, index) => [output.name, toOutput(results[index]!, output)]));
}

/** Texts are copied too: an output may be an input. */
function toOutput(result: tf.Tensor, { dtype }: GraphTensor): Tensor {
  if (dtype !== "bytes") return fromTfjsTensor(result, dtype);
  const texts = tf.engine().readSync(result.dataId) as unknown as Uint8Array[];
  return createTensor(
    "bytes",
    result.shape,
    texts.map((text) => Uint8Array.from(text)),
  );
}

/** An input or output, and what the graph model calls it. */
interface GraphTensor extends TensorSpec {
  /** A key of the model's own signature, or a node. */
  readonly key: string;
}

/** Inputs and outputs of a graph model. */
interface GraphSignature {
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
}

/** protobuf's JSON forms that are read here. */
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
    return { inputs: toGraphTensors("Input", written.inputs), outputs: toGraphTensors("Output", written.outputs) };
  }
  return fromNodes((modelTopology as { node?: readonly NodeJson[] }).node ?? []);
}

function toGraphTensors(role: string, tensors: Readonly<Record<string, TensorInfoJson>>): GraphTensor[] {
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
