import type { MessagePort } from "node:worker_threads";
import { isOwnFailure, type ServingError } from "../../errors.ts";
import { createModelClient, type ModelClient } from "../../models/threads/model-client.ts";
import { boundFields } from "../../observability/bound-event.ts";
import type { Logger } from "../../observability/logger.ts";
import { hookFacts } from "../../pipeline/hook-places.ts";
import { HookClock } from "../../pipeline/hook-times.ts";
import { Pipeline } from "../../pipeline/pipeline.ts";
import type { RemoteClient } from "../../pipeline/remote.ts";
import { hookEdges } from "../../pipeline/signatures.ts";
import { StartMark, startHeartbeat } from "../../platform/threads/heartbeat.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { Responder } from "../../platform/threads/responder.ts";
import { createLimitedLogger } from "../../platform/threads/thread-logger.ts";
import { fromWireError, toWireError } from "../../platform/threads/wire-error.ts";
import { type HookSet, toHooks, validateHooks } from "../hook-set.ts";
import { LOAD_DOUBT, withinStartLimit } from "../start-limit.ts";
import { guardProcess, replacedBuiltIn, watchExternalMemory } from "./guard-process.ts";
import type { HookCommand, HookEvent, HookThreadData, ModelConnection } from "./hook-protocol.ts";
import { OtherModels } from "./other-models.ts";
import { isPythonFile } from "./python/copy-python-hooks.ts";
import { runAnyRequest } from "./run-request.ts";
import { type LoadMore, startHooks } from "./start-hooks.ts";

type Start = Extract<HookCommand, { readonly start: unknown }>["start"];

/** Time for the last answers of a thread whose hooks are lost, in milliseconds. */
const FLUSH_MS = 20;
/** Default port of debuggers; further threads use the ports after it. */
const FIRST_PORT = 9229;
const PORTS = 100;

/** Saved before user code may replace it. */
const { exit } = process;

/**
 * Runs a hook thread: imports and checks the hooks, then starts them with the models, and answers requests until it is
 * closed.
 */
export async function runHookThread(data: HookThreadData, remote: RemoteClient): Promise<void> {
  const { control } = data;
  const port = toHostPort(control);
  const say = (event: HookEvent) => port.post(event, []);
  const log = createLimitedLogger(data.logged, (event) => say({ log: event }));
  keepAlive(data.heartbeat, log);
  guardProcess();
  watchExternalMemory(data.hookMemoryMb, () => {
    say({ exhausted: true });
    exit();
  });
  const parent = new ParentModels(control, say);
  const detach = data.inspectHooks ? await openInspector(log) : () => {};
  try {
    const opened = await openHooks(data, log);
    const { hooks, sources, pid } = opened;
    const { options } = hooks;
    const found = { ...(sources && { sources }), ...(pid !== undefined && { pid }) };
    say({ declared: { ...(options && { options }), ...found, facts: hookFacts(hooks), edges: hookEdges(hooks) } });
    const { start } = await nextCommand(control, "start");
    const close = await startPipeline({ opened, start, loadMore: parent.load, remote, log, data, say, control });
    void opened.lost?.then((reason) => endLost(reason, say));
    await nextCommand(control, "close");
    await close();
    await opened.close();
    say({ closed: true });
  } catch (reason) {
    say({ failed: toWireError(reason) });
  } finally {
    detach();
    await remote.close();
    control.close();
  }
}

/**
 * Lets a debugger attach to this thread only, and logs the address. Only on this machine: a debugger can run any code.
 * Returns a function that disconnects it; otherwise the thread's end would wait for that.
 */
async function openInspector(log: Logger): Promise<() => void> {
  const { close, open, url } = await import("node:inspector");
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++) {
    open(port, "127.0.0.1");
    // No error is thrown for a port in use.
    if (url() === undefined) continue;
    log.info("a debugger can attach to the hooks", { port, url: url() });
    return close;
  }
  log.warn(`no debugger can attach to the hooks: the ports from ${FIRST_PORT} on are in use`);
  return close;
}

/** Ends the thread after the answers to its requests have been sent. */
function endLost(reason: ServingError, say: (event: HookEvent) => void): void {
  say({ failed: toWireError(reason) });
  setTimeout(exit, FLUSH_MS);
}

interface PipelineStart {
  readonly opened: OpenedHooks;
  readonly start: Start;
  readonly loadMore: LoadMore;
  readonly remote: RemoteClient;
  readonly log: Logger;
  readonly data: HookThreadData;
  readonly say: (event: HookEvent) => void;
  readonly control: MessagePort;
}

/** Returns a function that ends it. */
async function startPipeline({
  opened,
  start,
  loadMore,
  remote,
  log,
  data,
  say,
  control,
}: PipelineStart): Promise<() => Promise<void>> {
  const models = start.models.map(toModelClient);
  control.on("message", (command: HookCommand) => {
    if (!("reconnect" in command)) return;
    const { stage, instance, port, resend } = command.reconnect;
    models[stage]?.reconnect(instance, toHostPort(port), resend);
  });
  const { file, hookTimeoutMs: startTimeoutMs } = data;
  const { hooks, hookTimeoutMs } = opened;
  const limits = { file, hookTimeoutMs: startTimeoutMs };
  const started = await startHooks(hooks, { models, params: start.params, log, loadMore, ...limits });
  const others = new OtherModels(loadMore);
  const findOther = others.find.bind(others);
  const { globalCtx } = started;
  const { served } = start;
  const clock = new HookClock(data.stageCount, data.times);
  const pipeline = new Pipeline({ served, models, hooks, globalCtx, remote, findOther, log, hookTimeoutMs, clock });
  const onError = (reason: unknown) => endIfSpoilt(reason, data, say);
  const responder: Responder = new Responder(toHostPort(start.requests), {
    answer: (request, signal) => runAnyRequest(pipeline, request, { signal, onError, responder }),
    startMark: new StartMark(data.started),
  });
  say({ ready: true });
  return async () => {
    await pipeline.close();
    responder.close();
    await started.close();
    await others.close();
    for (const model of models) await model.close();
  };
}

/** The server's own code may have failed because user code replaced a built-in: later requests would fail too. */
function endIfSpoilt(reason: unknown, { file }: HookThreadData, say: (event: HookEvent) => void): void {
  const name = isOwnFailure(reason) ? replacedBuiltIn() : undefined;
  if (name === undefined) return;
  const message = `${file}, or a package that it imports, replaced ${name}, and a request failed of it; leave built-in objects as they are.`;
  say({ failed: { code: "unavailable", message } });
  exit();
}

/** The next command of one kind; other kinds have their own listeners. */
function nextCommand<Key extends "start" | "close">(
  control: MessagePort,
  key: Key,
): Promise<Extract<HookCommand, { readonly [K in Key]: unknown }>> {
  return new Promise((resolve) => {
    const listen = (command: HookCommand) => {
      if (!(key in command)) return;
      control.off("message", listen);
      resolve(command as never);
    };
    control.on("message", listen);
  });
}

/** Starts the heartbeat, and keeps a stray rejection from ending the thread. */
function keepAlive(heartbeat: SharedArrayBuffer, log: Logger): void {
  startHeartbeat(heartbeat);
  process.on("unhandledRejection", (reason) =>
    log.error("a promise that no hook awaits was rejected; await it, or catch its errors", { err: reason }),
  );
  // Node sends an uncaught error to the main thread as it is.
  process.on("uncaughtException", (reason) => {
    if (process.listenerCount("uncaughtException") === 1) throw boundFields({ reason }).reason;
  });
}

/** Loads models for hooks by requests to the main thread. */
class ParentModels {
  readonly #say: (event: HookEvent) => void;
  readonly #waiting = new Map<number, (command: HookCommand) => void>();
  #lastId = 0;

  constructor(control: MessagePort, say: (event: HookEvent) => void) {
    this.#say = say;
    control.on("message", (command: HookCommand) => {
      if ("loadedModel" in command) this.#waiting.get(command.loadedModel.id)?.(command);
    });
  }

  readonly load: LoadMore = async (driver, path, options) => {
    const id = ++this.#lastId;
    const answered = new Promise<HookCommand>((resolve) => this.#waiting.set(id, resolve));
    this.#say({ loadModel: { id, driver, path, options } });
    const { loadedModel } = (await answered) as Extract<HookCommand, { readonly loadedModel: unknown }>;
    this.#waiting.delete(id);
    if (loadedModel.connection === undefined) throw fromWireError(loadedModel.failed as never);
    const handle = toModelClient(loadedModel.connection);
    const close = async () => {
      await handle.close();
      this.#say({ closeModel: id });
    };
    return { ...handle, close };
  };
}

/** Creates the handle of a model from the connections that the main thread sent. */
function toModelClient({ facts, hookArgs, ports }: ModelConnection): ModelClient {
  return createModelClient({ facts, hookArgs, ports: ports.map((port) => toHostPort(port)) });
}

/** Hooks that are imported and checked. */
interface OpenedHooks {
  readonly hooks: HookSet;
  /** Files that only the import has shown. */
  readonly sources?: readonly string[];
  /** Number of the process that runs them. */
  readonly pid?: number | undefined;
  /**
   * Time limit that the pipeline applies to each hook, in milliseconds; 0 = none, or the hooks' process has its own.
   */
  readonly hookTimeoutMs: number;
  /** Resolves when hooks that run elsewhere cannot run any more, with the reason. */
  readonly lost?: Promise<ServingError>;
  close(): Promise<void>;
}

/** Imports the hooks of a file in this thread, or in a Python process of this thread. Throws `failed_precondition`. */
async function openHooks(data: HookThreadData, log: Logger): Promise<OpenedHooks> {
  const { file, hookTimeoutMs, stageCount } = data;
  const limit = { hookTimeoutMs, log, doubt: LOAD_DOUBT };
  const step = `${file} has not been loaded`;
  if (isPythonFile(file)) {
    const { startPythonHooks } = await import("./python/start-python-hooks.ts");
    return { ...(await withinStartLimit(startPythonHooks(data, log), step, limit)), hookTimeoutMs: 0 };
  }
  const { importCompiled } = await import("../../platform/user-module/import-compiled.ts");
  const exports = await withinStartLimit(importCompiled(data.url, file), step, limit);
  return { hooks: validateHooks(toHooks(exports, file), stageCount, file), hookTimeoutMs, close: async () => {} };
}
