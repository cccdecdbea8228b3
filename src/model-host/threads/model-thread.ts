import type { MessagePort } from "node:worker_threads";
import { createDeferred } from "../../async/deferred.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { type DriverLocation, importDriver } from "../../drivers/registry.ts";
import type { Logged } from "../../observability/log-filter.ts";
import { type PauseHeartbeat, startHeartbeat } from "../../threads/heartbeat.ts";
import { toHostPort } from "../../threads/host-port.ts";
import { createThreadLogger, type LogEvent } from "../../threads/thread-logger.ts";
import { toWireError, type WireError } from "../../threads/wire-error.ts";
import type { ModelFacts } from "../model-facts.ts";
import { factsOf, type ModelHandle } from "../model-handle.ts";
import { loadHostedModel } from "../model-host.ts";
import { ModelServer } from "./serve-model.ts";
import { ThreadTurns } from "./thread-turns.ts";

/** Data that a model thread is started with. */
export interface ModelWorkerData {
  readonly driver: DriverLocation;
  readonly logged: Logged;
  readonly heartbeat: SharedArrayBuffer;
  /** Memory that says which of several models works: see {@link ThreadTurns}. Absent where the thread has one model. */
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
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
}

interface AttachCommand {
  readonly attach: MessagePort;
  readonly line: number;
  /** The model's number. */
  readonly id: number;
}

/** Messages from the main thread to a model thread; models are named by number. */
export type ModelThreadCommand =
  | { readonly load: LoadCommand }
  | AttachCommand
  | { readonly unload: number }
  /** To be sent once no model is left. */
  | { readonly close: true };

/** Messages from a model thread to the main thread. */
export type ModelThreadEvent =
  | { readonly loaded: { readonly facts: ModelFacts; readonly hookArgs: unknown }; readonly id: number }
  | { readonly failed: WireError; readonly id: number }
  | { readonly unloaded: number }
  | { readonly log: LogEvent; readonly id: number }
  /** A line has ended; `malformed` = because of a message with this problem. */
  | { readonly detached: number; readonly malformed?: string };

type Say = (event: ModelThreadEvent) => void;

/**
 * Runs a model thread: loads models, answers on every line that is attached, frees models, and resolves once it was told to close.
 * `onStarted` is called once the code of the driver is there, before native code may start threads of its own.
 */
export async function runModelThread(
  control: MessagePort,
  data: ModelWorkerData,
  onStarted: () => void = () => {},
): Promise<void> {
  const closing = createDeferred<void>();
  const models = new ThreadModels(data, (event) => control.postMessage(event), onStarted);
  control.on("message", (command: ModelThreadCommand) => {
    if ("load" in command) void models.load(command.load);
    else if ("attach" in command) models.attach(command);
    else if ("unload" in command) void models.unload(command.unload);
    else closing.resolve();
  });
  await closing.promise;
}

/** The models of this thread. */
class ThreadModels {
  readonly #data: ModelWorkerData;
  readonly #say: Say;
  readonly #onStarted: () => void;
  readonly #reportStuck: PauseHeartbeat;
  readonly #turns: ThreadTurns | undefined;
  readonly #models = new Map<number, { readonly model: ModelHandle; readonly server: ModelServer }>();

  constructor(data: ModelWorkerData, say: Say, onStarted: () => void) {
    this.#data = data;
    this.#say = say;
    this.#onStarted = onStarted;
    this.#reportStuck = startHeartbeat(data.heartbeat);
    this.#turns = data.running && new ThreadTurns(data.running);
  }

  async load({ id, path, options, threads }: LoadCommand): Promise<void> {
    const log = createThreadLogger(this.#data.logged, (event) => this.#say({ log: event, id }));
    try {
      const driver = inTurn(await importDriver(this.#data.driver), id, this.#turns);
      this.#onStarted();
      const reportStuck = this.#reportStuck;
      const model = await loadHostedModel({ driver, path, options, threads, reportStuck }, log);
      const server = new ModelServer(model);
      this.#models.set(id, { model, server });
      this.#say({ loaded: { facts: factsOf(model), hookArgs: server.hookArgs }, id });
    } catch (reason) {
      this.#say({ failed: toWireError(reason), id });
    }
  }

  /** The asker may be a hook thread, whose messages are not trusted: the main thread is told which line sent a malformed one. */
  attach({ attach: port, line, id }: AttachCommand): void {
    const responder = this.#models.get(id)?.server.attach(toHostPort(port));
    // It was freed meanwhile.
    if (responder === undefined) {
      port.close();
      return;
    }
    let malformed: string | undefined;
    responder.onMalformed(({ message }) => {
      malformed = message;
    });
    responder.onClose(() => this.#say({ detached: line, ...(malformed !== undefined && { malformed }) }));
  }

  /** Waits for what is under way, then frees the model. */
  async unload(id: number): Promise<void> {
    const known = this.#models.get(id);
    this.#models.delete(id);
    try {
      await known?.server.idle();
      await known?.model.close();
    } catch (reason) {
      this.#say({ failed: toWireError(reason), id });
    }
    this.#say({ unloaded: id });
  }
}

/** A driver whose model works in its turn, where others share its thread. */
function inTurn(driver: Driver, id: number, turns: ThreadTurns | undefined): Driver {
  if (turns === undefined) return driver;
  const load: Driver["load"] = async (...args) => {
    const model = await turns.run(id, async () => driver.load(...args));
    const predict: typeof model.predict = (...call) => turns.run(id, async () => model.predict(...call));
    return { ...model, predict };
  };
  return { ...driver, load };
}
