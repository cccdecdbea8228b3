import type { MessagePort } from "node:worker_threads";
import { createDeferred } from "../../async/deferred.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { type DriverLocation, importDriver } from "../../drivers/registry.ts";
import type { Logged } from "../../observability/log-filter.ts";
import { startHeartbeat } from "../../threads/heartbeat.ts";
import { toHostPort } from "../../threads/host-port.ts";
import { createThreadLogger, type LogEvent } from "../../threads/thread-logger.ts";
import { toWireError, type WireError } from "../../threads/wire-error.ts";
import type { ModelFacts } from "../model-facts.ts";
import { factsOf } from "../model-handle.ts";
import { loadHostedModel } from "../model-host.ts";
import { ModelServer } from "./serve-model.ts";

/** Data that a model thread is started with. */
export interface ModelWorkerData extends Omit<ModelThreadData, "stallMs"> {
  readonly heartbeat: SharedArrayBuffer;
}

/** A model, and how its thread is watched. */
export interface ModelThreadData {
  readonly driver: DriverLocation;
  readonly path: string;
  readonly options: RawOptions;
  /** Threads that the runtime may use. */
  readonly threads: number;
  readonly logged: Logged;
  /** Milliseconds of a still event loop after which the thread counts as stuck; 0 = never. */
  readonly stallMs: number;
}

/** Messages from the main thread to a model thread. */
export type ModelThreadCommand = { readonly attach: MessagePort; readonly line: number } | { readonly close: true };

/** Messages from a model thread to the main thread. */
export type ModelThreadEvent =
  | { readonly loaded: { readonly facts: ModelFacts; readonly hookArgs: unknown } }
  | { readonly failed: WireError }
  | { readonly log: LogEvent }
  /** A line has ended; `malformed` = because of a message with this problem. */
  | { readonly detached: number; readonly malformed?: string };

/** Runs a model thread: loads the model, answers on every line that is attached, and resolves once it was told to close and has closed. */
export async function runModelThread(control: MessagePort, data: ModelWorkerData): Promise<void> {
  const reportStuck = startHeartbeat(data.heartbeat);
  const say = (event: ModelThreadEvent) => control.postMessage(event);
  const closing = createDeferred<void>();
  const log = createThreadLogger(data.logged, (event) => say({ log: event }));
  try {
    const driver = await importDriver(data.driver);
    const { path, options, threads } = data;
    const model = await loadHostedModel({ driver, path, options, threads, reportStuck }, log);
    const server = new ModelServer(model);
    control.on("message", (command: ModelThreadCommand) => {
      if ("attach" in command) attach(server, command, say);
      else closing.resolve();
    });
    say({ loaded: { facts: factsOf(model), hookArgs: server.hookArgs } });
    await closing.promise;
    await server.idle();
    await model.close();
  } catch (reason) {
    say({ failed: toWireError(reason) });
  }
}

/** The asker may be a hook thread, whose messages are not trusted: the main thread is told which line sent a malformed one. */
function attach(
  server: ModelServer,
  { attach: port, line }: Extract<ModelThreadCommand, { readonly attach: MessagePort }>,
  say: (event: ModelThreadEvent) => void,
): void {
  const responder = server.attach(toHostPort(port));
  let malformed: string | undefined;
  responder.onMalformed(({ message }) => {
    malformed = message;
  });
  responder.onClose(() => say({ detached: line, ...(malformed !== undefined && { malformed }) }));
}
