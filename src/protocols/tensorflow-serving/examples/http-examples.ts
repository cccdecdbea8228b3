import { LARGE_MESSAGE_BYTES } from "../../../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../../proxy/http-route.ts";
import type { InferenceService, ModelRef } from "../../../serving/inference-service.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import type { PredictRequest } from "../http-predict.ts";
import { versionHeaders } from "../http-response.ts";
import { recordedBytes } from "../recorded-bytes.ts";
import { EXAMPLE_LOGS } from "./example-methods.ts";
import { type ExampleRequest, recordedRequest } from "./example-request.ts";
import { readExamplesJson, readExamplesJsonJob, writeResult, writeResultJob } from "./examples-json.ts";
import { encodeResult, isLargeResult } from "./result-messages.ts";
import type { ExampleMethod } from "./results.ts";
import { runExamples } from "./run-examples.ts";

/** Answers `:classify` or `:regress`. */
export async function answerExamples(
  service: InferenceService,
  { ref, method, body, settings }: PredictRequest & { readonly method: ExampleMethod },
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  exchange.record.model = ref.model;
  const call = exchange.callInfo();
  const { maxMessageBytes: maxBytes } = exchange;
  // As in the original, invalid JSON is reported before a missing model.
  const { signature, examples } =
    body.length > LARGE_MESSAGE_BYTES
      ? await exchange.decode(readExamplesJsonJob, [body, maxBytes], body)
      : readExamplesJson(body, maxBytes);
  const lease = await service.acquire(ref, call);
  try {
    const recording = lease.recordAs?.(EXAMPLE_LOGS[method], recordedRequest(toRequest(ref, signature, examples)));
    const run = { method, signature, settings, examples, call, maxBytes };
    const { answer, result } = await runExamples(lease, run);
    recording?.finish(recordedBytes(encodeResult({ spec: { ...answer, versionEncoding: "int64" }, result })));
    const text = isLargeResult(result) ? await exchange.encode(writeResultJob, [result]) : writeResult(result);
    return { contentType: "application/json", body: text, ...versionHeaders(answer) };
  } finally {
    lease.release();
  }
}

/** The request as it would be over gRPC, if it is recorded. */
function toRequest({ model, version, label }: ModelRef, signature: string, examples: Tensor<"bytes">): ExampleRequest {
  const chosen = { ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
  const spec = { model, signature, ...chosen, versionEncoding: "int64" } as const;
  return { tasks: [{ spec, method: "" }], examples };
}
