import { inferBody, JSON_BYTES } from "../../src/client/http/infer-body.ts";
import { readAnswer } from "../../src/client/http/read-answer.ts";
import { decodeInferResponse, encodeInferRequest, methodPath } from "../../src/client/remote/infer-message.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { grpcAnswer } from "../engine/messages.ts";
import { withGrpcPrefix } from "../load/grpc-connection.ts";
import type { LoadMessage } from "../load/load-connection.ts";
import type { LoadTarget } from "../load/load-job.ts";

/** The path of KServe V2's inference for the model that all servers here have. */
export const REST_PATH = "/v2/models/default/infer";

/** Checks the outputs of the first answer, which all later ones have to equal. */
type CheckOutputs = (outputs: Tensors) => boolean;

/** The same bytes sent to two servers, and what each has to answer. */
export interface Targets {
  readonly ours: LoadTarget;
  /** For a server that sends back what it gets. */
  bare(port: number): LoadTarget;
}

/** Inference over gRPC, values as raw contents. */
export async function grpcTargets(port: number, inputs: Tensors, check: CheckOutputs): Promise<Targets> {
  const body = encodeInferRequest({ model: "default", inputs });
  const answer = await grpcAnswer(port, body, methodPath("ModelInfer"));
  assertOutputs(decodeInferResponse(answer).outputs, check);
  const target = (to: number, bytes: Buffer): LoadTarget => {
    return {
      protocol: "grpc",
      port: to,
      path: methodPath("ModelInfer"),
      messages: [{ body, expected: { bytes: withGrpcPrefix(bytes) } }],
    };
  };
  return { ours: target(port, answer), bare: (to) => target(to, body) };
}

/** Inference over HTTP, values as bytes behind the JSON, or as JSON. */
export async function httpTargets(
  port: number,
  inputs: Tensors,
  { check, isBinary = true }: { readonly check: CheckOutputs; readonly isBinary?: boolean },
): Promise<Targets> {
  const { headers, body } = inferBody({ inputs }, isBinary);
  const response = await fetch(`http://127.0.0.1:${port}${REST_PATH}`, { method: "POST", headers, body });
  const answer = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`port ${port} answered with ${response.status}: ${answer}`);
  assertOutputs(readAnswer(answer, response.headers.get(JSON_BYTES)).outputs, check);
  const sent = { body: Buffer.from(body), ...(isBinary && { headers: `${JSON_BYTES}: ${headers[JSON_BYTES]}\r\n` }) };
  const target = (to: number, bytes: Buffer): LoadTarget => {
    const message: LoadMessage = { ...sent, expected: { bytes } };
    return { protocol: "http", port: to, path: REST_PATH, messages: [message] };
  };
  return { ours: target(port, answer), bare: (to) => target(to, sent.body) };
}

function assertOutputs(outputs: Tensors, check: CheckOutputs): void {
  if (!check(outputs)) throw new Error(`a server did not answer as it should: ${Object.keys(outputs)}`);
}
