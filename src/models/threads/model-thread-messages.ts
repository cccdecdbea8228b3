import type { MessagePort } from "node:worker_threads";
import type { ModelCopies } from "../../drivers/driver.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import type { DriverLocation } from "../../drivers/registry.ts";
import type { Logged } from "../../observability/log-filter.ts";
import type { LogEvent } from "../../platform/threads/thread-logger.ts";
import type { WireError } from "../../platform/threads/wire-error.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { MarkPlace } from "../run-mark.ts";

/** Data that a model thread begins with. */
export interface ModelWorkerData {
  readonly driver: DriverLocation;
  readonly logged: Logged;
  readonly heartbeat: SharedArrayBuffer;
  /** Memory that all model threads have in common: see {@link DriverHost.poolCalls}. */
  readonly poolCalls?: SharedArrayBuffer;
  /** Memory that says which of several models works: see {@link ThreadTurns}. Absent if the thread has one model. */
  readonly running?: SharedArrayBuffer;
}

/** A model, and how its thread is watched. */
export interface ModelThreadData extends Omit<LoadCommand, "id"> {
  readonly driver: DriverLocation;
  readonly logged: Logged;
  /** Milliseconds of a still event loop after which the thread counts as stuck; 0 = never. */
  readonly stallMs: number;
}

/** A model to load. */
export interface LoadCommand {
  /** Its number in this thread. */
  readonly id: number;
  /** The name by which clients know it. */
  readonly name: string;
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  /** Absent if the process has one copy of the model. */
  readonly copies?: ModelCopies | undefined;
  /** The folder of the pipeline's hook file; absent = the driver does not get it. */
  readonly hookFolder?: string | undefined;
  /** Shared memory of a {@link LaneMark}, which the thread watches; absent = the main thread does not run the model. */
  readonly laneMark?: SharedArrayBuffer | undefined;
  /** Absent = the model's runs are not marked. */
  readonly mark?: MarkPlace | undefined;
}

/** A port to be answered. */
export interface AttachedPort {
  readonly number: number;
  /** The model's number. */
  readonly id: number;
}

/** Messages from the main thread to a model thread; models are named by number. */
export type ModelThreadCommand =
  /** The first of all. */
  | { readonly start: ModelWorkerData }
  | { readonly load: LoadCommand }
  /** Nothing waits for its load any more; a driver may end that. */
  | { readonly giveUp: number }
  | (AttachedPort & { readonly attach: MessagePort })
  | { readonly unload: number }
  /** To be sent once no model is left. */
  | { readonly close: true };

/** The processes in which a model of a thread runs. */
export interface ProcessState {
  /** False while the model cannot answer, since they have ended. */
  readonly isReady: boolean;
  readonly pids: readonly number[];
}

/** Messages from a model thread to the main thread. */
export type ModelThreadEvent =
  | { readonly loaded: { readonly facts: ModelFacts; readonly hookArgs: unknown }; readonly id: number }
  | { readonly failed: WireError; readonly id: number }
  | { readonly unloaded: number }
  /** Of a model with processes, when it has been loaded and whenever it has changed. */
  | { readonly state: ProcessState; readonly id: number }
  | { readonly log: LogEvent; readonly id: number }
  /** The port with this number has closed; `malformed` = because of a message with this problem. */
  | { readonly detached: number; readonly malformed?: string };
