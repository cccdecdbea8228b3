import { type Client, connectivityState } from "@grpc/grpc-js";
import { ServingError } from "../errors.ts";
import { callUnary, createGrpcClient } from "./grpc-client.ts";

/** A client of another server that sends serialised messages. */
export interface MessageClient {
  /** Waits for the connection; throws `unavailable` where it cannot be had. */
  connect(): Promise<void>;
  /** Sends a message to a method and resolves with the answer's; rejects with the server's error. */
  call(path: string, message: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  close(): void;
}

/** The largest size that gRPC's signed 32-bit lengths can express. */
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;
/** Milliseconds that a connection may take. */
const CONNECT_MS = 10_000;

/** A client of the gRPC server at `host:port`, with an `Authorization` where that asks for one. */
export function createMessageClient(address: string, authorization?: string): MessageClient {
  const client = createGrpcClient(address, { maxMessageBytes: MAX_MESSAGE_BYTES });
  const { signal } = new AbortController();
  const metadata = authorization === undefined ? {} : { authorization };
  return {
    connect: () => connect(client, address),
    call: async (path, message, timeoutMs) => {
      const call = { signal, metadata, deadline: Date.now() + timeoutMs };
      return (await callUnary(client, path, { message: toBuffer(message), call })).message;
    },
    close: () => client.close(),
  };
}

/** Rejects with the first failure; later messages belong to the next call. */
function connect(client: Client, address: string): Promise<void> {
  const channel = client.getChannel();
  return new Promise((resolve, reject) => {
    const look = () => {
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.READY) return resolve();
      if (state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN)
        return reject(new ServingError("unavailable", `No gRPC server answers at ${address}; start one there.`));
      channel.watchConnectivityState(state, Date.now() + CONNECT_MS, (late) => (late ? giveUp() : look()));
    };
    const giveUp = () =>
      reject(new ServingError("unavailable", `${address} takes no connection within ${CONNECT_MS} ms.`));
    look();
  });
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
