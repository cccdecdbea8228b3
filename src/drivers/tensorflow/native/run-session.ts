import { type Pointer, runAsync } from "../../../native/bind-functions.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import type { TensorflowApi } from "./c-api.ts";
import { encodeOutputs, type GraphTensor } from "./graph.ts";
import { withStatusAsync } from "./status.ts";
import { fromNativeTensor, toNativeTensor } from "./tensor-memory.ts";

/** A tensor of the graph, and its value for a run. */
export interface Feed {
  readonly target: GraphTensor;
  readonly tensor: Tensor;
}

/** One run of a graph. */
export interface SessionRun {
  readonly feeds: readonly Feed[];
  readonly fetches: readonly GraphTensor[];
  /** Operations that run in addition. */
  readonly targets?: readonly Pointer[] | undefined;
  /** Milliseconds after which TensorFlow ends it. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs the operations that the fetched tensors need, in a thread of the pool; returns the tensors in order. Throws
 * TensorflowFailure.
 */
export async function runSession(api: TensorflowApi, session: Pointer, run: SessionRun): Promise<Tensor[]> {
  const { feeds, fetches, timeoutMs } = run;
  const options = timeoutMs === undefined ? null : createRunOptions(api, timeoutMs);
  const given: Pointer[] = [];
  try {
    for (const { tensor } of feeds) given.push(toNativeTensor(api, tensor));
    return takeTensors(api, await call(api, session, { options, given, run }), fetches);
  } finally {
    for (const pointer of given) api.TF_DeleteTensor(pointer);
    if (options !== null) api.TF_DeleteBuffer(options);
  }
}

interface CallArguments {
  readonly options: Pointer | null;
  readonly given: readonly Pointer[];
  readonly run: SessionRun;
}

/** koffi keeps the arrays where they are until the call returns. */
async function call(api: TensorflowApi, session: Pointer, args: CallArguments): Promise<BigUint64Array> {
  const { feeds, fetches, targets = [] } = args.run;
  const inputs = encodeOutputs(feeds.map(({ target }) => target));
  const values = BigUint64Array.from(args.given);
  const outputs = encodeOutputs(fetches);
  const results = new BigUint64Array(fetches.length);
  await withStatusAsync(api, (status) =>
    runAsync(
      api.TF_SessionRun,
      session,
      args.options,
      inputs,
      values,
      feeds.length,
      outputs,
      results,
      fetches.length,
      BigUint64Array.from(targets),
      targets.length,
      null,
      status,
    ),
  );
  return results;
}

/** `RunOptions` with field 2, `timeout_in_ms`, alone. */
function createRunOptions(api: TensorflowApi, timeoutMs: number): Pointer {
  const bytes = [0x10];
  let rest = Math.max(1, Math.ceil(timeoutMs));
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  const message = Uint8Array.of(...bytes, rest);
  return api.TF_NewBufferFromString(message, message.length) as Pointer;
}

/** Copies of the tensors, which are deleted in any case. */
function takeTensors(api: TensorflowApi, pointers: BigUint64Array, fetches: readonly GraphTensor[]): Tensor[] {
  try {
    return fetches.map(({ name }, index) => fromNativeTensor(api, pointers[index]!, name));
  } finally {
    for (const pointer of pointers) api.TF_DeleteTensor(pointer);
  }
}
