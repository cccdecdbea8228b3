import { failedPrecondition } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import { copyFromNative } from "../../../native/memory.ts";
import { readText } from "../../../native/read-text.ts";
import type { NativeContext } from "./open-onnx.ts";
import type { WantedProvider } from "./providers-wanted.ts";
import { check, takePointer } from "./status.ts";

/** The session configuration entry for {@link readAssignment}. */
export const RECORD_ASSIGNMENT = { "session.record_ep_graph_assignment_info": "1" };

const CPU = "CPUExecutionProvider";
const NAMES: Readonly<Record<WantedProvider["name"], string>> = {
  cuda: "CUDAExecutionProvider",
  tensorrt: "TensorrtExecutionProvider",
};

/** The types of a session's operators by the execution provider that runs them. */
export type Assignment = ReadonlyMap<string, readonly string[]>;

/** Asks a session which execution provider runs which operators; undefined in a library that does not tell. */
export function readAssignment(context: NativeContext, session: Pointer): Assignment | undefined {
  const { api, assignment: functions } = context;
  if (functions === undefined) return undefined;
  const found = new Map<string, string[]>();
  for (const graph of takeList(context, (at, count) =>
    functions.Session_GetEpGraphAssignmentInfo(session, at, count),
  )) {
    const provider = readText(takePointer(api, (at) => functions.EpAssignedSubgraph_GetEpName(graph, at)));
    const nodes = takeList(context, (at, count) => functions.EpAssignedSubgraph_GetNodes(graph, at, count));
    const types = nodes.map((node) =>
      readText(takePointer(api, (at) => functions.EpAssignedNode_GetOperatorType(node, at))),
    );
    found.set(provider, [...(found.get(provider) ?? []), ...types]);
  }
  return found;
}

/** Addresses that belong to the session. */
function takeList(
  { api }: NativeContext,
  call: (at: BigUint64Array, count: BigUint64Array) => Pointer | null,
): Pointer[] {
  const [at, count] = [new BigUint64Array(1), new BigUint64Array(1)];
  check(api, call(at, count));
  return [...copyFromNative(new BigUint64Array(Number(count[0])), at[0]!)];
}

/** Numbers of operators on a GPU and on the CPU, with the types of the latter. */
export interface GpuShare {
  readonly gpu: number;
  readonly cpu: number;
  readonly cpuOperators: readonly string[];
}

/**
 * Counts the operators on a GPU. Throws `failed_precondition` where a provider has
 * none, and others would run all of them unnoticed.
 */
export function requireGpu(assignment: Assignment, { name }: Pick<WantedProvider, "name">): GpuShare {
  const ofCpu = assignment.get(CPU) ?? [];
  const all = [...assignment.values()].flat();
  if (all.length === 0 || assignment.has(NAMES[name]))
    return { gpu: all.length - ofCpu.length, cpu: ofCpu.length, cpuOperators: toTypes(ofCpu) };
  const message = `None of the model's operators runs on the GPU by ${name.toUpperCase()}: ONNX Runtime gives ${toTypes(all).join(", ")} to others. Leave -o runtime_backend out.`;
  throw failedPrecondition(message);
}

function toTypes(operators: readonly string[]): string[] {
  return [...new Set(operators)].sort();
}
