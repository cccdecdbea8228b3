import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  type requestCallback,
} from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { CONNECTION_WINDOW_BYTES } from "../../platform/limits/transport-limits.ts";
import { parseServerAddress } from "./server-address.ts";

/** Longer than any pause: a channel that becomes idle would report that the server is not ready. */
export const NEVER_IDLE_MS = 2 ** 31 - 1;

/** Encryption of a connection, and its limits. */
interface ConnectionOptions {
  /** Called for addresses of encrypted servers alone. */
  readonly encrypt: () => ChannelCredentials;
  /** Limits and times of grpc-js, besides those that all connections have. */
  readonly limits?: ChannelOptions;
}

/** A client that keeps one connection to the server at an address, as {@link parseServerAddress} takes it. */
export function connectGrpc(address: string, { encrypt, limits }: ConnectionOptions): Client {
  const { authority, isEncrypted } = parseServerAddress(address);
  return new Client(authority, isEncrypted ? encrypt() : credentials.createInsecure(), {
    "grpc.max_send_message_length": -1,
    "grpc-node.flow_control_window": CONNECTION_WINDOW_BYTES,
    "grpc.enable_channelz": 0,
    ...limits,
  });
}

/** Leaves a message's bytes as they are, in place of a codec of gRPC's client. */
export function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** Asks the health service of a client's server (grpc.health.v1). Throws for a client that has been closed. */
export function askHealth(client: Client, timeoutMs: number, done: requestCallback<Buffer>): void {
  const options = { deadline: Date.now() + timeoutMs };
  client.makeUnaryRequest("/grpc.health.v1.Health/Check", asIs, asIs, Buffer.alloc(0), options, done);
}

/** Checks that a client is connected; a disconnected one starts to connect. */
export function isConnected(client: Client): boolean {
  return client.getChannel().getConnectivityState(true) === connectivityState.READY;
}

/**
 * Reports immediately if a client is connected, and then each change, until it is
 * closed or the returned function is called.
 */
export function watchConnection(client: Client, listener: (connected: boolean) => void): () => void {
  const channel = client.getChannel();
  let known: boolean | undefined;
  let isStopped = false;
  const look = () => {
    if (isStopped) return;
    const state = channel.getConnectivityState(true);
    const connected = state === connectivityState.READY;
    if (connected !== known) listener(connected);
    known = connected;
    if (state !== connectivityState.SHUTDOWN) channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
  };
  look();
  return () => {
    isStopped = true;
  };
}

/** Milliseconds that a connection may take. */
const CONNECT_MS = 10_000;

/** Waits until a client is connected; throws `unavailable` with the first failure. */
export function untilConnected(client: Client, address: string): Promise<void> {
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
