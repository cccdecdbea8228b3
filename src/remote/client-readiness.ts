import { type Client, connectivityState } from "@grpc/grpc-js";

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
