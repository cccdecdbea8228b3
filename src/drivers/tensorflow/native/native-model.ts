import { invalidArgument, ServingError } from "../../../errors.ts";
import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { toTensors, type Values } from "../../../tensor/plain-value.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { GraphRun, Model, PredictCall } from "../../driver.ts";
import { shapesByName } from "../../shapes-by-name.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import type { BoundTensor, ModelSignature } from "../saved-model/model-signatures.ts";
import type { GraphOperation, GraphTensor, TensorflowGraph } from "./graph.ts";
import type { Feed } from "./run-session.ts";
import type { TensorflowSession } from "./session.ts";
import { toRunError } from "./tensorflow-errors.ts";

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
  /** True if a run leaves nothing behind. */
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
    keepsThread: true,
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

/** The `graph` of hooks. */
export interface GraphHandle {
  /** Every operation of the graph, with its type and outputs. */
  operations(): Promise<GraphOperation[]>;
}

/** The `sess` of hooks: runs any part of the graph, as TensorFlow 1's `Session.run` does. */
export interface SessionHandle {
  /**
   * One tensor for one name, a list for a list. Names are those of the graph's tensors: `name` or `name:0`. Plain
   * values take the dtype of what they feed.
   */
  run(fetches: string, feeds?: Values): Promise<Tensor>;
  run(fetches: readonly string[], feeds?: Values): Promise<Tensor[]>;
}

/** The graph of a session, for hooks. */
function createGraphHandle({ graph }: TensorflowSession): GraphHandle {
  return { operations: async () => graph.operations() };
}

/** The session, for hooks. */
function createSessionHandle(session: TensorflowSession): SessionHandle {
  async function run(fetches: string | readonly string[], feeds: Values = {}): Promise<Tensor | Tensor[]> {
    const names = typeof fetches === "string" ? [fetches] : fetches;
    const wanted = names.map((name) => session.graph.tensor(name));
    const given = toFeeds(session.graph, feeds);
    const tensors = await session.run(given, wanted).catch((reason: unknown) => {
      throw toRunError(
        reason,
        given.map(({ target, tensor }) => [target.name, tensor] as const),
      );
    });
    return typeof fetches === "string" ? tensors[0]! : tensors;
  }
  return { run: run as SessionHandle["run"] };
}

function toFeeds(graph: TensorflowGraph, feeds: Values): Feed[] {
  const targets = new Map(Object.keys(feeds).map((name) => [name, graph.tensor(name)]));
  const tensors = toTensors(feeds, (name) => graph.dtype(targets.get(name)!));
  return Array.from(targets, ([name, target]) => {
    const tensor = tensors[name]!;
    checkDType(graph, target, tensor);
    return { target, tensor };
  });
}

/** Parts of a graph that clients may run. */
interface RunnableParts {
  /** Tensors that requests give a model. */
  readonly inputs: readonly GraphTensor[];
  /** The operations that signatures need; found with the first run. */
  readonly served: () => ReadonlySet<Pointer>;
  /** True if a tensor may be the name of a file: then nothing but the inputs may be fed. */
  readonly usesFiles: boolean;
}

/** Runs parts of a session's graph for clients, by the names of its tensors: those that the signatures compute. */
export class GraphRunner {
  readonly #session: TensorflowSession;
  readonly #parts: RunnableParts;

  constructor(session: TensorflowSession, parts: RunnableParts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** As {@link Model.runGraph}. */
  async run(feeds: Tensors, { fetches, targets, signal, deadlineMs }: GraphRun): Promise<Tensors> {
    if (signal.aborted) throw ServingError.from(signal.reason);
    const { graph } = this.#session;
    const wanted = fetches.map((name) => this.#served(graph.tensor(name)));
    const operations = targets.map((name) => this.#served(graph.operation(name)).operation);
    const given = Object.entries(feeds).map(([name, tensor]) => ({ target: this.#feedable(name, tensor), tensor }));
    const limits = { signal, deadlineMs };
    try {
      const tensors = await this.#session.run(given, wanted, { ...limits, targets: operations });
      return createTensors(fetches.map((name, index) => [name, tensors[index]!]));
    } catch (reason) {
      throw toRunError(reason, Object.entries(feeds));
    }
  }

  #served<Part extends Pick<GraphTensor, "name" | "operation">>(tensor: Part): Part {
    if (this.#parts.served().has(tensor.operation)) return tensor;
    throw new ServingError(
      "permission_denied",
      `No signature of the model computes "${tensor.name}"; parts of the graph that restore, initialise or save it are not run for clients.`,
    );
  }

  #feedable(name: string, tensor: Tensor): GraphTensor {
    const { graph } = this.#session;
    const target = this.#served(graph.tensor(name));
    checkDType(graph, target, tensor);
    const isInput = this.#parts.inputs.some(
      ({ operation, index }) => operation === target.operation && index === target.index,
    );
    if (isInput || !this.#parts.usesFiles) return target;
    throw new ServingError(
      "permission_denied",
      `"${name}" is not an input of a signature; of a model that works with files nothing else is fed.`,
    );
  }
}

/** Throws `invalid_argument` for a value of another type than the graph's. */
function checkDType(graph: TensorflowGraph, target: GraphTensor, { dtype }: Tensor): void {
  const expected = graph.dtype(target) ?? dataTypeName(graph.dataType(target));
  if (dtype === expected) return;
  throw invalidArgument(`Feed "${target.name}" is ${dtype}; the graph takes ${expected}.`);
}
