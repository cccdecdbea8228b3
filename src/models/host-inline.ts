import { MessageChannel } from "node:worker_threads";
import { type MalformedListener, toHostPort } from "../platform/threads/host-port.ts";
import { factsOf, type ModelHandle } from "./model-handle.ts";
import type { ModelHost } from "./model-host.ts";
import { ModelServer } from "./threads/model-server.ts";

/** Lets other threads use a model of this thread. */
export function hostInline(handle: ModelHandle, close: () => Promise<void>): ModelHost {
  const server = new ModelServer(handle);
  const connect = (onMalformed: MalformedListener) => {
    const { port1, port2 } = new MessageChannel();
    server.attach(toHostPort(port1)).onMalformed(onMalformed);
    return [port2];
  };
  return {
    facts: factsOf(handle),
    hookArgs: server.hookArgs,
    handle,
    connect,
    onReconnect: () => () => {},
    isReady: () => handle.isReady?.() ?? true,
    threads: () => ({ ready: 0, missing: 0, lost: 0, pids: handle.processIds?.() ?? [] }),
    close,
  };
}
