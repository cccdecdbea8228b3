import type { Logger } from "../../observability/logger.ts";
import type { ModelThread } from "./model-thread.ts";
import { ModelThreadHost } from "./model-thread-host.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";

/** Starts a model where it is to run: in its own thread, or in one that it shares; `signal` gives up the load. */
export type StartModelThread = (data: ModelThreadData, log: Logger, signal?: AbortSignal) => Promise<ModelThread>;

/** Starts a thread, loads a model in it and resolves once it can predict; throws what loading threw. */
export const startModelThread: StartModelThread = (data, log, signal) =>
  new ModelThreadHost({ ...data, isShared: false }, log).load(data, log, signal);
