import { codecs } from "../../codec-host/codecs.ts";
import { MANY_ELEMENTS } from "../../codec-host/large-message.ts";
import { ServingError } from "../../errors.ts";
import { returnMemory } from "../../limits/lent-memory.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import type { Signature } from "../../signature/signature.ts";
import { elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { CLASS_BYTES, type ClassifiedOutput, classify, classifyJob } from "./classify.ts";
import { datatypeOf } from "./datatype.ts";
import type { AnsweredOutput } from "./kserve-answer.ts";
import type { RequestedOutput } from "./kserve-request.ts";
import { readUnsigned } from "./parameters.ts";
import type { SharedTensors } from "./shared-tensors.ts";

/** The request that an answer is for. */
interface Answering {
  /** Empty = all outputs are wanted. */
  readonly requested: readonly RequestedOutput[];
  readonly signature: Signature | undefined;
  readonly call: CallOptions;
  /** Places of the outputs that the client wants in shared memory; absent = it wants none there. */
  readonly shared: SharedTensors | undefined;
}

/**
 * The outputs of an answer, classified or written to shared memory as the client asked: in the client's order, else the
 * signature's, else that of the model's answer.
 */
export async function answerOutputs(tensors: Tensors, answering: Answering): Promise<AnsweredOutput[]> {
  const { requested, signature, shared } = answering;
  if (requested.length === 0) {
    const order = signature?.outputs?.map(({ name }) => name) ?? [];
    const names = Object.keys(tensors).toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
    return names.map((name) => toOutput(name, tensors[name] as Tensor));
  }
  const outputs: AnsweredOutput[] = [];
  for (const { name, parameters } of requested) {
    const count = readUnsigned(parameters, "classification") ?? 0;
    const tensor = tensors[name] ?? missing(name);
    const output = toOutput(name, count === 0 ? tensor : await classified(tensor, { name, count }, answering));
    const isShared = shared !== undefined && (await shared.write(name, tensor));
    outputs.push(isShared ? { ...output, tensor: undefined } : output);
  }
  if (shared !== undefined) recycle(tensors, outputs, answering.call);
  return outputs;
}

/** Returns the memory of tensors that are not read any more, as they are all in shared memory now. */
function recycle(tensors: Tensors, outputs: readonly AnsweredOutput[], { memory }: CallOptions): void {
  if (memory?.isWireOnly !== true || outputs.some(({ tensor }) => tensor !== undefined)) return;
  for (const { dtype, data } of Object.values(tensors)) if (dtype !== "bytes") returnMemory(data.buffer);
}

/** Memory for the texts of one output's classes: half of the default for all requests together. */
const MAX_CLASS_BYTES = 256 * 1024 * 1024;

async function classified(
  tensor: Tensor,
  { name, count }: Pick<ClassifiedOutput, "name" | "count">,
  { requested, signature, call }: Answering,
): Promise<Tensor> {
  const labels = signature?.outputs?.find((spec) => spec.name === name)?.labels;
  const output = { name, count, labels };
  if (elementCount(tensor.shape) <= MANY_ELEMENTS) return classify(tensor, output, MAX_CLASS_BYTES);
  const { signal, memory } = call;
  const transfer = requested.length === 1 && memory?.isWireOnly === true ? "owned" : undefined;
  const scratchBytes = Math.min(elementCount(tensor.shape) * CLASS_BYTES, MAX_CLASS_BYTES);
  return codecs.run(classifyJob, [tensor, output, MAX_CLASS_BYTES], { transfer, signal, memory, scratchBytes });
}

function missing(name: string): never {
  throw new ServingError("internal", `The pipeline did not return the output '${name}'.`);
}

function toOutput(name: string, tensor: Tensor): AnsweredOutput {
  const { dtype, shape } = tensor;
  const datatype = datatypeOf(dtype)?.name;
  if (datatype !== undefined) return { name, datatype, shape, tensor };
  throw new ServingError(
    "failed_precondition",
    `output '${name}' is ${dtype}, which KServe V2 cannot carry; ask for other outputs, or use the TensorFlow Serving API`,
  );
}
