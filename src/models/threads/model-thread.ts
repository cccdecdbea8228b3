import type { MessagePort } from "node:worker_threads";
import type { HostPort, MalformedListener } from "../../platform/threads/host-port.ts";
import type { LostThread } from "./lost-thread.ts";
import type { ModelThreadEvent, ProcessState } from "./model-thread-messages.ts";

/** Facts about a loaded model, as its thread tells them. */
export type LoadedFacts = Extract<ModelThreadEvent, { readonly loaded: unknown }>["loaded"];

/** A loaded model in a thread, or in its own process. */
export interface ModelThread extends LoadedFacts {
  /** The process's number; absent for a thread. */
  readonly pid?: number;
  /** The processes that the model in the thread has; undefined if it has none. */
  processes?(): ProcessState | undefined;
  /** Resolves once the thread is of no use any more: it ended by itself, or is unresponsive. */
  readonly lost: Promise<LostThread>;
  /** Resolves once the thread has ended. */
  readonly ended: Promise<unknown>;
  /** A new port to the model; `onMalformed` is called when the other end's thread sends a malformed message. */
  connect(onMalformed?: MalformedListener): MessagePort;
  /** A new port to the model for this thread. */
  connectHere(): HostPort;
  /**
   * Waits for the last predict, then frees the model, and lets the thread end by itself after its last model: native
   * code may run in it until then.
   */
  close(): Promise<void>;
}
