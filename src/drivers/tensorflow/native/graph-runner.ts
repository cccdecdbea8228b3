import { invalidArgument, ServingError } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import type { GraphRun } from "../../driver.ts";
import { dataTypeName } from "../saved-model/data-type.ts";
import type { GraphTensor, TensorflowGraph } from "./graph.ts";
import { toRunError } from "./run-error.ts";
import type { TensorflowSession } from "./session.ts";

/** Parts of a graph that clients may run. */
export interface RunnableParts {
  /** Tensors that requests give a model. */
  readonly inputs: readonly GraphTensor[];
  /** The operations that signatures need; found with the first run. */
  readonly served: () => ReadonlySet<Pointer>;
  /** True where a tensor may be the name of a file: then nothing but the inputs may be fed. */
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
export function checkDType(graph: TensorflowGraph, target: GraphTensor, { dtype }: Tensor): void {
  const expected = graph.dtype(target) ?? dataTypeName(graph.dataType(target));
  if (dtype === expected) return;
  throw invalidArgument(`Feed "${target.name}" is ${dtype}; the graph takes ${expected}.`);
}
