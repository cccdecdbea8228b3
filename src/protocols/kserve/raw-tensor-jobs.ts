import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fromRaw, type InputContext, type InputHead, toRaw } from "./raw-tensor.ts";

/** The request of an input, as {@link InputContext}. */
interface JobContext extends Pick<InputContext, "model" | "id"> {
  readonly maxBytes: number;
}

/** {@link fromRaw} for a codec thread. */
export const fromRawJob = defineJob(
  import.meta.url,
  "fromRawJob",
  (head: InputHead, raw: Uint8Array, { maxBytes, ...context }: JobContext): Tensor =>
    fromRaw(head, raw, { ...context, budget: new DecodeBudget(maxBytes) }),
);

/** {@link toRaw} for a codec thread. */
export const toRawJob = defineJob(import.meta.url, "toRawJob", toRaw);
