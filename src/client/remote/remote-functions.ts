import type { Client } from "@grpc/grpc-js";
import { fromGrpcStatus, ServingError } from "../../errors.ts";
import { decodeStatusDetails } from "../../grpc/grpc-status.ts";
import { notOneAnswer } from "../../one-answer.ts";
import { endOfParts, RAW_BODY, type RawHead } from "../../pipeline/infer-request.ts";
import { rawPayload } from "../../pipeline/run-raw.ts";
import { decodePart, type FunctionPart, functionPath } from "../../protocols/functions/function-messages.ts";
import { decodeModelList, encodeListRequest } from "../../protocols/functions/model-list.ts";
import type { ToldModel } from "../../protocols/functions/told-models.ts";
import type { InferRequest, InferResponse, ModelRef, ModelsCall } from "../../serving/inference-service.ts";
import { encodeCall } from "./encode-requests.ts";
import { callStream, callUnary } from "./grpc-client.ts";
import { assertInTime } from "./grpc-messages.ts";
import { readAnswer } from "./infer-message.ts";

/** The models that another server tells of, or the one of a name; undefined = it has no method for that. */
export async function listRemoteModels(
  client: Client,
  call: ModelsCall,
  model: string | undefined,
): Promise<readonly ToldModel[] | undefined> {
  const message = encodeListRequest(model ?? "");
  try {
    const answer = await callUnary(client, functionPath("ListModels"), { message, call });
    if (answer.message.length > MAX_LIST_BYTES) throw tooMuchTold(answer.message.length);
    return await readAnswer(() => decodeModelList(answer.message));
  } catch (reason) {
    if (ServingError.from(reason).code !== "unimplemented") throw reason;
    return undefined;
  }
}

/** Bytes of a list of models, which the main thread reads as far as it is asked. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

function tooMuchTold(bytes: number): ServingError {
  const message = `The server behind this one tells ${bytes} bytes about its models; expected ${MAX_LIST_BYTES} at most.`;
  return new ServingError("unavailable", message);
}

/** A request for a function of the hooks of another server's model. */
interface AskedFunction {
  readonly ref: ModelRef;
  readonly request: InferRequest;
  readonly raw: RawHead;
}

/** Calls a function of another server; its parts go to the request's sink. */
export async function callRemoteFunction(client: Client, asked: AskedFunction): Promise<InferResponse> {
  const { ref, request } = asked;
  const { call } = request;
  const message = await encodeRequest(asked);
  try {
    return await readAnswerOf(ref, request, callStream(client, functionPath("CallFunction"), { message, call }));
  } catch (reason) {
    assertInTime(call, reason);
    throw reason;
  }
}

async function readAnswerOf(
  ref: ModelRef,
  request: InferRequest,
  answers: ReturnType<typeof callStream>,
): Promise<InferResponse> {
  const { parts, call } = request;
  let head: InferResponse | undefined;
  let count = 0;
  for await (const { message } of answers) {
    const part = await readAnswer(() => decodePart(message));
    const { error } = part;
    if (error !== undefined) throw toError(error);
    if (part.isWhole) {
      // Counted from here on.
      call.memory?.grow(message.length);
      return toResponse(part);
    }
    if (parts === undefined) throw notOneAnswer(ref.model, 2);
    const made = head === undefined ? toResponse(part) : { ...head, ...NO_HEAD, outputs: rawPayload(part.body) };
    head ??= made;
    count++;
    call.record?.gavePart(performance.now());
    await parts.write(made);
  }
  if (head === undefined)
    throw new ServingError("internal", "The server behind this one ended its answer before its first part.");
  return endOfParts(head, request, count);
}

function toError({ status, message, details }: NonNullable<FunctionPart["error"]>): ServingError {
  return new ServingError(fromGrpcStatus(status), message, { details: decodeStatusDetails(details) });
}

/** Members that the first part alone has. */
const NO_HEAD = { metadata: {}, contentType: undefined, status: undefined };

function toResponse({ model, version, body, headers, contentType }: FunctionPart): InferResponse {
  const outputs = rawPayload(body);
  return { model, version, signature: "", outputs, metadata: headers, contentType, status: 200 };
}

async function encodeRequest({ ref, raw, request: { inputs, call } }: AskedFunction): Promise<Buffer> {
  const given = inputs.kind === "tensors" ? inputs.tensors[RAW_BODY]?.data : undefined;
  const facts = Object.entries(raw.facts).map(([name, value]) => [name, String(value)]);
  const head = { model: ref.model, name: raw.entry, facts: Object.fromEntries(facts) };
  return encodeCall(head, given instanceof Uint8Array ? given : new Uint8Array(0), call);
}
