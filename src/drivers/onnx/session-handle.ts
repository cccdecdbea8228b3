import { invalidArgument } from "../../errors.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { DType } from "../../tensor/dtype.ts";
import { toTensors, type Values } from "../../tensor/plain-value.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { OnnxSession } from "./onnx-session.ts";

/** The `session` of hooks: plain data and async functions only, so that it can be reached from another thread. */
export interface SessionHandle {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** The model file's `metadata_props` (ONNX Runtime's custom_metadata_map), as its exporter wrote them; empty for `.ort` files. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Runs the model; plain values become tensors of the dtype that the input has. Gives the outputs named, or all. */
  run(feeds: Values, fetches?: readonly string[]): Promise<Tensors>;
}

/** Facts about a session's model. */
interface SessionFacts {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** The handle of a session whose inputs and outputs are known. */
export function createSessionHandle(session: OnnxSession, { inputs, outputs, metadata }: SessionFacts): SessionHandle {
  const inputNames = inputs.map(({ name }) => name);
  const outputNames = outputs.map(({ name }) => name);
  return {
    inputNames,
    outputNames,
    metadata,
    run: async (feeds, fetches) => {
      for (const name of Object.keys(feeds)) checkName("input", name, inputNames);
      for (const name of fetches ?? []) checkName("output", name, outputNames);
      const missing = inputNames.find((name) => !Object.hasOwn(feeds, name));
      if (missing !== undefined)
        throw invalidArgument(`Input "${missing}" is missing; session.run takes ${inputNames.join(", ")}.`);
      const tensors = toTensors(feeds, (name) => inputs.find((input) => input.name === name)?.dtype);
      for (const input of inputs) checkDType(input, tensors[input.name]?.dtype);
      return session.run(tensors, { outputs: fetches });
    },
  };
}

/** The runtime would ignore an unknown input. */
function checkName(role: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw invalidArgument(`The model has no ${role} "${name}".${didYouMean(name, known)} It has ${known.join(", ")}.`);
}

function checkDType({ name, dtype }: TensorSpec, given: DType | undefined): void {
  if (given !== dtype) throw invalidArgument(`Input "${name}" is ${given}; the model takes ${dtype}.`);
}
