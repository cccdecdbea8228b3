import { setImmediate as nextTurn } from "node:timers/promises";
import type { Client, ClientDuplexStream, Metadata, ServiceError } from "@grpc/grpc-js";
import { reasonText } from "../../errors.ts";
import { CallError } from "../call-error.ts";
import { abortError } from "../call-sender.ts";
import { asIs } from "../remote/grpc-connection.ts";
import { toMetadata } from "../remote/grpc-messages.ts";
import type { ModelRequest, StreamAnswer, TransportCall } from "../transport.ts";
import { grpcFailure } from "./grpc-failure.ts";
import { decodeStreamResponse, encodeInferRequest } from "./infer-message.ts";

/** The method of a server's streams. */
interface StreamMethod {
  readonly client: Client;
  readonly address: string;
  readonly path: string;
}

type Duplex = ClientDuplexStream<Buffer, Buffer>;

/**
 * Sends requests as they come, and gives answers as they come; ends the call if its reader stops. A server that ends
 * it before all requests were sent is an error, for which no further one is waited.
 */
export async function* inferStream(
  { client, address, path }: StreamMethod,
  requests: AsyncIterable<ModelRequest>,
  { signal, deadline, metadata }: TransportCall,
): AsyncGenerator<StreamAnswer, void, undefined> {
  const options = deadline === undefined ? {} : { deadline };
  const call: Duplex = client.makeBidiStreamRequest(path, asIs, asIs, toMetadata(metadata), options);
  let hasHeaders = false;
  call.on("metadata", (_: Metadata) => {
    hasHeaders = true;
  });
  const cancel = () => call.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  let unsent: { readonly reason: unknown } | undefined;
  sendAll(call, requests).catch((reason) => {
    unsent = { reason };
    call.cancel();
  });
  try {
    for await (const message of call) yield toAnswer(address, message as Buffer);
    if (!call.writableEnded) throw endedEarly(address);
  } catch (reason) {
    if (unsent !== undefined) throw unsent.reason;
    if (signal.aborted) throw abortError(signal);
    if (reason instanceof CallError) throw reason;
    throw isServiceError(reason) ? grpcFailure(address, reason, hasHeaders) : unreadable(address, reason);
  } finally {
    signal.removeEventListener("abort", cancel);
    call.cancel();
  }
}

/** Waits while the connection takes no more, and stops if the call is over. */
async function sendAll(call: Duplex, requests: AsyncIterable<ModelRequest>): Promise<void> {
  for await (const request of requests) {
    if (call.destroyed) return;
    if (!call.write(encodeInferRequest(request))) await nextDrain(call);
    // A source that never waits would keep answers from being read.
    await nextTurn();
  }
  call.end();
}

function nextDrain(call: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ["drain", "close", "error"]) call.off(event, done);
      resolve();
    };
    for (const event of ["drain", "close", "error"]) call.on(event, done);
  });
}

function isServiceError(reason: unknown): reason is ServiceError {
  return typeof (reason as ServiceError | null)?.details === "string";
}

function unreadable(address: string, cause: unknown): CallError {
  const text = `The stream of ${address} cannot be read: ${reasonText(cause)} Send the requests one by one.`;
  return new CallError("internal", text, { cause });
}

function endedEarly(address: string): CallError {
  const text = `${address} ended the stream before all requests were sent. Send those without a result again if they may run twice.`;
  return new CallError("internal", text);
}

function toAnswer(address: string, message: Buffer): StreamAnswer {
  const { id, outputs, errorText } = decodeStreamResponse(message);
  if (errorText === "") return { id, outputs };
  const text = `${address} answered in the stream: ${errorText}`;
  return { id, error: new CallError("unknown", text, { serverText: errorText }) };
}
