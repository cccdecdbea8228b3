import { codecs } from "../../platform/codec-host/codec-pool.ts";
import { MANY_ELEMENTS } from "../../platform/codec-host/large-message.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import { CLASS_BYTES, type ClassifiedOutput, classify, classifyJob } from "./classify.ts";

/** Memory for the texts of one output's classes: half of the default for all requests together. */
const MAX_CLASS_BYTES = 256 * 1024 * 1024;

/** {@link classify}, in a codec thread if that takes long. `isOnly`: no other output is answered. */
export function classifyOutput(
  tensor: Tensor,
  output: ClassifiedOutput,
  { call: { signal, memory }, isOnly }: { readonly call: CallOptions; readonly isOnly: boolean },
): Tensor | Promise<Tensor> {
  const elements = elementCount(tensor.shape);
  if (elements <= MANY_ELEMENTS) return classify(tensor, output, MAX_CLASS_BYTES);
  const transfer = isOnly && memory?.isWireOnly === true ? "owned" : undefined;
  const scratchBytes = Math.min(elements * CLASS_BYTES, MAX_CLASS_BYTES);
  return codecs.run(classifyJob, [tensor, output, MAX_CLASS_BYTES], { transfer, signal, memory, scratchBytes });
}
