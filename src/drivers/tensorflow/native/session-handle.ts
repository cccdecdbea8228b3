import { toTensors, type Values } from "../../../tensor/plain-value.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import type { GraphOperation, TensorflowGraph } from "./graph.ts";
import { checkDType } from "./graph-runner.ts";
import { toRunError } from "./run-error.ts";
import type { Feed } from "./run-session.ts";
import type { TensorflowSession } from "./session.ts";

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
export function createGraphHandle({ graph }: TensorflowSession): GraphHandle {
  return { operations: async () => graph.operations() };
}

/** The session, for hooks. */
export function createSessionHandle(session: TensorflowSession): SessionHandle {
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
