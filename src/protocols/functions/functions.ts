import { invalidArgument, ServingError } from "../../errors.ts";
import { frameBytes, framedBytes, frameParts } from "../../grpc/framed-message.ts";
import type { GrpcProtocolOptions, StreamExchange, StreamMethod, UnaryMethod } from "../../grpc/grpc-route.ts";
import { toGrpcStatus } from "../../grpc/grpc-status.ts";
import { logFailure } from "../../observability/log-failure.ts";
import { decodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import { inferRaw, type RawResponse } from "../../serving/infer-raw.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { describeModel } from "../kserve/model-ref.ts";
import type { Protocol } from "../protocol.ts";
import { leaseFor } from "../text/lease-for.ts";
import { readCall, readCallJob } from "./called-function.ts";
import { type FunctionCall, type FunctionPart, functionPath, partFields } from "./function-messages.ts";
import { decodeListRequest, encodeModelList } from "./model-list.ts";
import type { ToldModel } from "./told-models.ts";

/** The service kserving.FunctionService, by which `kserving proxy` answers requests about texts and media. */
export const functions: Protocol = {
  name: "functions",
  grpc: (service, options) => ({
    routes: {
      [functionPath("ListModels")]: { kind: "read", method: listMethod(service), maxBytes: SMALL_REQUEST_BYTES },
      [functionPath("CallFunction")]: { kind: "inference", stream: callMethod(service, options) },
    },
  }),
};

function listMethod(service: InferenceService): UnaryMethod {
  return async (message, { record }) => {
    const model = decodeListRequest(message);
    if (model !== "") record.model = model;
    const models = model === "" ? await listModels(service) : [await tellModel(service, model)];
    return { message: frameBytes(await encodeModelList(models)) };
  };
}

async function tellModel(service: InferenceService, name: string): Promise<ToldModel> {
  const description = await describeModel(service, { model: name });
  return { model: description.model, version: description.version, unavailableReason: "", description };
}

async function listModels(service: InferenceService): Promise<readonly ToldModel[]> {
  const told = service.index().map(async ({ model, version, isReady, unavailableReason }): Promise<ToldModel> => {
    const ref = { model, version };
    const gone = { ...ref, unavailableReason: unavailableReason || "it is being unloaded", description: undefined };
    if (!isReady) return gone;
    return describeModel(service, ref).then(
      (description) => ({ ...ref, unavailableReason: "", description }),
      () => gone,
    );
  });
  return Promise.all(told);
}

function callMethod(service: InferenceService, options: GrpcProtocolOptions): StreamMethod {
  return async (exchange) => {
    for await (const message of exchange.messages) {
      exchange.isWorking = true;
      exchange.record.received(message.length);
      return await new CalledFunction(exchange, options).answer(message, service);
    }
    throw invalidArgument("CallFunction has no request; expected one message.");
  };
}

/** One call of a function, on the way of its answer or its parts. */
class CalledFunction {
  readonly #exchange: StreamExchange;
  readonly #options: GrpcProtocolOptions;
  #count = 0;

  constructor(exchange: StreamExchange, options: GrpcProtocolOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  async answer(message: Uint8Array, service: InferenceService): Promise<void> {
    const call = this.#exchange;
    const { model, name: entry, facts, body } = await this.#read(message);
    call.record.model = model;
    const lease = await leaseFor(service, { model, entries: [entry] }, call);
    try {
      const { model: name, version } = lease.description;
      const send = ({ body: bytes, contentType, metadata: headers }: RawResponse, isWhole: boolean) =>
        this.#send(
          this.#count++ > 0 ? { body: bytes } : { body: bytes, contentType, headers, model: name, version, isWhole },
        );
      const answer = await inferRaw(lease, { entry, facts, body, call, write: (part) => send(part, false) });
      if (answer.parts === undefined) await send(answer, true);
    } catch (reason) {
      if (this.#count === 0 || call.signal.aborted) throw reason;
      await this.#tellFailure(reason);
    } finally {
      lease.release();
    }
  }

  async #read(message: Uint8Array): Promise<FunctionCall> {
    if (message.length <= LARGE_MESSAGE_BYTES) return readCall(message);
    const { signal, memory } = this.#exchange;
    const given = { message, maxBytes: this.#options.maxMessageBytes, signal, memory };
    return decodeInThread(readCallJob, [message], given);
  }

  async #send(part: Partial<FunctionPart>): Promise<void> {
    const { memory, signal } = this.#exchange;
    const framed = frameParts(partFields(part), true);
    const bytes = memory.beyondPart(framedBytes(framed));
    memory.grow(bytes);
    // Its bytes are those of the function again only once they are sent.
    await this.#exchange.write(framed).finally(() => memory.shrink(bytes));
    signal.throwIfAborted();
  }

  /** A client of gRPC gives up the parts that it has not read when it learns of a status. */
  async #tellFailure(reason: unknown): Promise<void> {
    const { record, path } = this.#exchange;
    const { code } = ServingError.from(reason);
    record.failedWith = code;
    logFailure({ reason, code, record, path }, this.#options.log);
    const { code: status, details: message, statusDetails = "" } = toGrpcStatus(reason);
    await this.#send({ error: { status, message, details: Buffer.from(statusDetails, "base64") } });
  }
}
