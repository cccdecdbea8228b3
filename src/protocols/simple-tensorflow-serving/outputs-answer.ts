import { isLargeText } from "../../codec-host/large-message.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferResponse } from "../../serving/inference-service.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { versionHeaders } from "../tensorflow-serving/http-version.ts";
import { writeOutputs, writeOutputsJob } from "./write-outputs.ts";

/**
 * The answer to an inference request: an object with a value for each output, written
 * in a codec thread where it is large.
 */
export async function toOutputsAnswer(response: InferResponse, exchange: HttpExchange): Promise<HttpAnswer> {
  const outputs = answeredTensors(response);
  const isLarge = isLargeText(Object.values(outputs));
  const body = isLarge ? await exchange.encode(writeOutputsJob, [outputs]) : writeOutputs(outputs);
  return { contentType: "application/json", body, ...versionHeaders(response) };
}
