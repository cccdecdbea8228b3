import { invalidArgument } from "../../../errors.ts";
import { codecs } from "../../../platform/codec-host/codec-pool.ts";
import { LARGE_MESSAGE_BYTES } from "../../../platform/codec-host/large-message.ts";
import type { ProtocolSettings } from "../../../platform/limits/settings/server-settings.ts";
import type { CallOptions, InferResponse, Lease } from "../../../serving/inference-service.ts";
import type { ServableDescription } from "../../../serving/servable-description.ts";
import { type ChosenSignature, chooseSignature, toPlainSignature } from "../../../tensor/signature/choose-signature.ts";
import { byteSize, createTensors, elementCount, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import { answeredTensors } from "../../answered-tensors.ts";
import { checkMethodName } from "../method-names.ts";
import { featureInputs, featureInputsJob, serializedInput } from "./example-inputs.ts";
import { type ExampleMethod, type ExampleResult, namedOutputs, toResult } from "./results.ts";

/** Examples that become inputs. */
interface ExampleInputs {
  /** Serialised tf.Examples: [count]. */
  readonly examples: Tensor<"bytes">;
  readonly call: Pick<CallOptions, "signal" | "memory">;
  /** Memory limit of the examples' tensors, in bytes. */
  readonly maxBytes: number;
}

/** Examples for a leased version of a model, and the method that is run on them. */
export interface ExampleRun extends ExampleInputs {
  readonly method: ExampleMethod;
  /** Empty = the default one. */
  readonly signature: string;
  /** Absent = it is another protocol's, to which they do not apply. */
  readonly settings?: ProtocolSettings | undefined;
  readonly call: CallOptions;
}

/**
 * Runs examples: a signature that takes serialised tf.Examples gets them as they are,
 * any other its inputs from the features of their names. Throws `invalid_argument` with
 * the original's texts if the signature, the features or the outputs do not fit.
 */
export async function runExamples(
  lease: Lease,
  run: ExampleRun,
): Promise<{ readonly answer: InferResponse; readonly result: ExampleResult }> {
  const { method, call } = run;
  const count = elementCount(run.examples.shape);
  if (call.record !== undefined) call.record.examples = count;
  const signature = findSignature(lease.description, run.signature);
  const spec = signature.spec ?? {};
  checkMethodName(method, spec, run.settings);
  const inputs = await toInputs(signature, run);
  const answer = await lease.infer({
    signature,
    inputs: { kind: "tensors", tensors: inputs },
    outputs: namedOutputs(method, spec),
    call,
  });
  return { answer, result: toResult(method, answeredTensors(answer), spec, count) };
}

/** The signature of a name, the default one of an empty name; throws `invalid_argument` with the original's text. */
export function findSignature({ signatures }: Pick<ServableDescription, "signatures">, name: string): ChosenSignature {
  const chosen = chooseSignature(name, signatures);
  if (chosen !== undefined) return chosen;
  const known = Object.keys(signatures).join(", ");
  throw invalidArgument(`No signature was found with the name: ${name}. The model has ${known}.`);
}

/** The inputs of a signature for examples, as {@link runExamples} describes; refuses none with the original's text. */
export async function toInputs({ spec = {} }: ChosenSignature, from: ExampleInputs): Promise<Tensors> {
  const { examples, call, maxBytes } = from;
  if (elementCount(examples.shape) === 0) throw invalidArgument("Input is empty.");
  const serialized = serializedInput(spec);
  if (serialized !== undefined) return createTensors([[serialized, examples]]);
  if (byteSize(examples) <= LARGE_MESSAGE_BYTES) return featureInputs(examples, spec, maxBytes);
  const { signal, memory } = call;
  return codecs.run(featureInputsJob, [examples, toPlainSignature(spec), maxBytes], {
    transfer: "owned",
    signal,
    memory,
    scratchBytes: maxBytes,
  });
}
