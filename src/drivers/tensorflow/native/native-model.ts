import { invalidArgument, ServingError } from "../../../errors.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { Model, PredictCall } from "../../driver.ts";
import { shapesByName } from "../../shapes-by-name.ts";
import type { BoundTensor, ModelSignature } from "../saved-model/model-signatures.ts";
import type { GraphTensor } from "./graph.ts";
import type { GraphRunner } from "./graph-runner.ts";
import { toRunError } from "./run-error.ts";
import type { Feed } from "./run-session.ts";
import type { TensorflowSession } from "./session.ts";
import { createGraphHandle, createSessionHandle } from "./session-handle.ts";

/** A signature's inputs and outputs with the graph's tensors, looked up once. */
interface BoundSignature {
  readonly inputs: readonly Bound[];
  readonly outputs: readonly Bound[];
}

interface Bound {
  readonly spec: BoundTensor;
  readonly target: GraphTensor;
}

/** Further facts about a model. */
interface NativeModelFacts {
  /** The signature for hooks. */
  readonly shown: ModelSignature | undefined;
  readonly concurrency: number;
  /** True where a run leaves nothing behind. */
  readonly isPure: boolean;
  /** Runs parts of its graph for clients. */
  readonly runner: GraphRunner;
  /** Its name and version. */
  readonly runtime: string;
  readonly unserved: Model["unserved"];
}

/** A model that runs in a session. */
export function createNativeModel(
  session: TensorflowSession,
  signatures: Readonly<Record<string, ModelSignature>>,
  { shown, concurrency, isPure, runner, runtime, unserved }: NativeModelFacts,
): Model {
  const bound = new Map(Object.entries(signatures).map(([name, signature]) => [name, bind(session, signature)]));
  return {
    signatures,
    concurrency,
    isPure,
    runtime,
    ...(unserved !== undefined && { unserved }),
    checksShapes: true,
    hookArgs: {
      driver: "tensorflow",
      graph: createGraphHandle(session),
      sess: createSessionHandle(session),
      model_inputs: shapesByName(shown?.inputs ?? []),
      model_outputs: (shown?.outputs ?? []).map(({ name }) => name),
    },
    copiesInputs: true,
    predict: (inputs, call) => predict(session, bound.get(call.signature)!, { inputs, call }),
    runGraph: (feeds, run) => runner.run(feeds, run),
    close: () => session.close(),
  };
}

function bind({ graph }: TensorflowSession, { inputs, outputs }: ModelSignature): BoundSignature {
  const all = (specs: readonly BoundTensor[]) => specs.map((spec) => ({ spec, target: graph.tensor(spec.nativeName) }));
  return { inputs: all(inputs), outputs: all(outputs) };
}

async function predict(
  session: TensorflowSession,
  signature: BoundSignature,
  { inputs, call }: { readonly inputs: Tensors; readonly call: PredictCall },
): Promise<Tensors> {
  const { signal, outputs: wanted, deadlineMs } = call;
  if (signal.aborted) throw ServingError.from(signal.reason);
  const feeds = signature.inputs.map((input) => toFeed(input, inputs[input.spec.name] ?? input.spec.default));
  const outputs = signature.outputs.filter(({ spec }) => wanted?.includes(spec.name) ?? true);
  try {
    const tensors = await session.run(
      feeds,
      outputs.map(({ target }) => target),
      { signal, deadlineMs },
    );
    return createTensors(outputs.map(({ spec }, index) => [spec.name, tensors[index]!]));
  } catch (reason) {
    throw toRunError(reason, Object.entries(inputs));
  }
}

/** TensorFlow would name the tensor of the graph, not the input. */
function toFeed({ spec, target }: Bound, tensor: Tensor | undefined): Feed {
  if (tensor?.dtype === spec.dtype) return { target, tensor };
  const came = tensor === undefined ? "is missing" : `is ${tensor.dtype}`;
  throw invalidArgument(`Input "${spec.name}" ${came}; the model takes ${spec.dtype}.`);
}
