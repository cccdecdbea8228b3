import { type ChannelCredentials, type Client, credentials } from "@grpc/grpc-js";
import { invalidArgument, reasonText } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { decodeMessage, encodeAs } from "../../tensor/codecs/protobuf/proto-messages.ts";
import { CallError } from "../call-error.ts";
import type { ClientTls, ConnectOptions } from "../connect-options.ts";
import { callUnary } from "../remote/grpc-client.ts";
import { connectGrpc } from "../remote/grpc-connection.ts";
import type {
  ModelAnswer,
  ModelMetadata,
  ModelName,
  ModelRequest,
  StreamAnswer,
  Transport,
  TransportCall,
} from "../transport.ts";
import { grpcFailure } from "./grpc-failure.ts";
import { decodeInferResponse, encodeInferRequest, methodPath } from "./infer-message.ts";
import { inferStream } from "./infer-stream.ts";

/** KServe V2 over gRPC, on one connection that opens with the first call. */
export class GrpcTransport implements Transport {
  readonly address: string;
  readonly #client: Client;

  /** `address`: `grpc://HOST:PORT`, or `grpcs://`. Throws `invalid_argument` for texts that are not PEM. */
  constructor(address: string, { tls = {} }: Pick<ConnectOptions, "tls">) {
    this.address = address;
    this.#client = connectGrpc(withoutEnd(address, "/"), {
      encrypt: () => encrypted(tls),
      limits: { "grpc.max_receive_message_length": -1 },
    });
  }

  async infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer> {
    const { message, metadata } = await this.#call("ModelInfer", encodeInferRequest(request), call);
    return { ...this.#understand(() => decodeInferResponse(message)), metadata };
  }

  stream(requests: AsyncIterable<ModelRequest>, call: TransportCall): AsyncIterable<StreamAnswer> {
    return inferStream(
      { client: this.#client, address: this.address, path: methodPath("ModelStreamInfer") },
      requests,
      call,
    );
  }

  async describe(name: ModelName, call: TransportCall): Promise<ModelMetadata> {
    const answer = (await this.#ask("ModelMetadata", nameFields(name), call)) as unknown as ModelMetadata;
    const sized = (tensors: ModelMetadata["inputs"] = []) =>
      tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(Number) }));
    return { ...answer, inputs: sized(answer.inputs), outputs: sized(answer.outputs) };
  }

  async list(call: TransportCall): Promise<readonly string[]> {
    const { models } = await this.#ask("RepositoryIndex", {}, call);
    return [...new Set((models as unknown as readonly { readonly name: string }[]).map(({ name }) => name))];
  }

  async isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean> {
    if (name === undefined) return (await this.#ask("ServerReady", {}, call)).ready === true;
    return (await this.#ask("ModelReady", nameFields(name), call)).ready === true;
  }

  close(): void {
    this.#client.close();
  }

  async #ask(method: string, fields: Record<string, string>, call: TransportCall) {
    const { message } = await this.#call(method, encodeAs(`inference.${method}Request`, fields), call);
    return this.#understand(() => decodeMessage(`inference.${method}Response`, message));
  }

  #call(method: string, message: Buffer, call: TransportCall) {
    return callUnary(this.#client, methodPath(method), { message, call }, (error, hasHeaders) =>
      grpcFailure(this.address, error, hasHeaders),
    );
  }

  #understand<Answer>(read: () => Answer): Answer {
    try {
      return read();
    } catch (cause) {
      const text = `The answer of ${this.address} cannot be read: ${reasonText(cause)}`;
      throw new CallError("internal", text, { cause });
    }
  }
}

function nameFields({ model, version = "" }: ModelName): Record<string, string> {
  return { name: model, version };
}

function encrypted({ ca, cert, key }: ClientTls): ChannelCredentials {
  const [authorities, ownKey, ownCert] = [ca, key, cert].map((pem) => (pem === undefined ? null : Buffer.from(pem)));
  try {
    return credentials.createSsl(authorities, ownKey, ownCert);
  } catch (cause) {
    throw invalidArgument(`The tls option cannot be used: ${reasonText(cause)}; expected PEM texts.`, cause);
  }
}
