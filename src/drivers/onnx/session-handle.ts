import { invalidArgument } from "../../errors.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { OnnxSession } from "./onnx-session.ts";
import { createOnnxValues, type OnnxValues } from "./onnx-value.ts";
import { type FeedValue, toOnnxValue } from "./to-onnx-value.ts";

/** The `session` of hooks: plain data and async functions only, so that it can be reached from another thread. */
export interface SessionHandle {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** The model file's `metadata_props` (ONNX Runtime's custom_metadata_map), as its exporter wrote them. */
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Runs the model; plain values become tensors of the dtype that the input has, arrays sequences, objects maps, and
   * null an optional without a value. Gives the outputs named, or all.
   */
  run(feeds: Feeds, fetches?: readonly string[]): Promise<OnnxValues>;
}

/** A hook's values by the names of inputs. */
type Feeds = { readonly [name: string]: FeedValue };

/** The handle of a session; `defaults` are values of inputs that need not be given. */
export function createSessionHandle(
  session: OnnxSession,
  metadata: SessionHandle["metadata"],
  defaults: Tensors = createTensors(),
): SessionHandle {
  const { inputs, outputs } = session;
  const inputNames = inputs.map(({ name }) => name);
  const outputNames = outputs.map(({ name }) => name);
  return {
    inputNames,
    outputNames,
    metadata,
    run: async (feeds, fetches) => {
      for (const name of Object.keys(feeds)) checkName("input", name, inputNames);
      const given: Feeds = { ...defaults, ...feeds };
      for (const name of fetches ?? []) checkName("output", name, outputNames);
      const missing = inputNames.find((name) => !Object.hasOwn(given, name));
      if (missing !== undefined)
        throw invalidArgument(`Input "${missing}" is missing; session.run takes ${inputNames.join(", ")}.`);
      const values = inputs.map(({ name, type }) => [name, toOnnxValue(given[name] as FeedValue, name, type)] as const);
      return session.run(createOnnxValues(values), { outputs: fetches });
    },
  };
}

/** The runtime would ignore an unknown input. */
function checkName(role: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw invalidArgument(`The model has no ${role} "${name}".${didYouMean(name, known)} It has ${known.join(", ")}.`);
}
