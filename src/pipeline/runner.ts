import type { ThreadStates } from "../observability/thread-states.ts";
import type { Signature } from "../tensor/signature/signature.ts";
import type { HookFacts } from "./hook-places.ts";
import type { HookTimes } from "./hook-times.ts";
import type { InferRequest, InferResponse } from "./infer-request.ts";

/** A hook thread before it takes requests. */
export type WarmedThread = Pick<PipelineRunner, "signatures" | "run">;

/** Runs requests of one pipeline, in this thread or in hook threads. */
export interface PipelineRunner {
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Facts about its hooks, the same object until they are replaced; absent = there are none. */
  readonly hooks?: HookFacts | undefined;
  /** Runs one request; throws only ServingError. */
  run(request: InferRequest): Promise<InferResponse>;
  /** Reports if requests can be run now: false while no hook thread is alive. */
  isReady(): boolean;
  /** Hook threads; absent if hooks have none. */
  threads?(): ThreadStates;
  /** Times of the hooks until now; absent = there are no hooks. */
  hookTimes?(): readonly HookTimes[];
  /**
   * Replaces the hooks by their file as it is now, if they run in threads. Throws, and keeps the old ones, when the
   * new ones fail.
   */
  reload?(): Promise<void>;
  /**
   * Sets the requests that each later hook thread runs before it takes others. New hooks
   * that fail on them do not take over.
   */
  warmUpThreads?(warmUp: (thread: WarmedThread) => Promise<void>): void;
  /** The files that the hooks were built from, if {@link reload} exists. */
  readonly sources?: readonly string[];
  /** Ends the hooks. The models stay loaded; their owner closes them. */
  close(): Promise<void>;
}
