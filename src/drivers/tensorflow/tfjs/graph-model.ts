import type { GraphModel as ConverterModel } from "@tensorflow/tfjs-converter";
import type { io } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { invalidArgument, publicText, ServingError } from "../../../errors.ts";
import type { TensorSpec } from "../../../signature/signature.ts";
import { DEFAULT_SIGNATURE } from "../../../signature/signature.ts";
import { createRecord } from "../../../tensor/record.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import { describeInputs } from "../../describe-inputs.ts";
import type { Model } from "../../driver.ts";
import { isShapeFault } from "../../shape-fault.ts";
import { exclusively, runScoped } from "./exclusive-run.ts";
import type { GraphSignature, GraphTensor } from "./graph-signature.ts";
import { refuseEmpty } from "./refuse-empty.ts";
import { fromTfjsTensor, toTfjsTensor } from "./tfjs-tensor.ts";

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
