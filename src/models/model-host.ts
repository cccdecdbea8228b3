import type { MessagePort } from "node:worker_threads";
import type { ThreadStates } from "../observability/thread-states.ts";
import type { MalformedListener } from "../platform/threads/host-port.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { ModelHandle } from "./model-handle.ts";

/** Called with a new connection to an instance; `resend` = the requests on the old one have not run. */
export type ReconnectListener = (instance: number, port: MessagePort, resend: boolean) => void;

/** A loaded model: the main thread uses its handle, hook threads connect. */
export interface ModelHost {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
  readonly handle: ModelHandle;
  /**
   * New connections to the model, one per instance, for another thread; `onMalformed` is called when that thread sends
   * a malformed message.
   */
  connect(onMalformed: MalformedListener): readonly MessagePort[];
  /**
   * Calls back when an instance was replaced, with a new connection to it for another thread; returns a function that
   * removes the listener.
   */
  onReconnect(listener: ReconnectListener, onMalformed: MalformedListener): () => void;
  /** Sets the requests that each replacement thread runs before it takes others; absent if there is no thread. */
  warmUpThreads?(warmUp: (copy: ModelHandle) => Promise<void>): void;
  /** True while any instance can answer. */
  isReady(): boolean;
  /** Its threads; absent if it has none. */
  threads?(): ThreadStates;
  /** Waits for the last predict, then frees the model and ends its threads. */
  close(): Promise<void>;
}
