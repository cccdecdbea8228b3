import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { RawOptions } from "../drivers/option-table.ts";
import type { FoundDriver } from "../drivers/registry.ts";
import type { Logger } from "../observability/logger.ts";
import { sumThreads, type ThreadCounts } from "../observability/thread-counts.ts";
import { toHostPort } from "../threads/host-port.ts";
import type { MalformedListener } from "../threads/malformed-message.ts";
import type { PreprocessInputs } from "./images/image-input.ts";
import { ImagePreprocessor } from "./images/image-preprocessor.ts";
import type { ModelFacts } from "./model-facts.ts";
import { factsOf, type ModelHandle } from "./model-handle.ts";
import { loadHostedModel } from "./model-host.ts";
import { type OwnProcess, processStarts } from "./processes/start-model-process.ts";
import { createModelClient } from "./threads/model-client.ts";
import type { ModelThread } from "./threads/model-thread-host.ts";
import { ModelServer } from "./threads/serve-model.ts";
import type { SharedThreads } from "./threads/shared-threads.ts";
import type { StartModelThread } from "./threads/start-model-thread.ts";
import { type ReplacedListener, SupervisedModel } from "./threads/supervised-model.ts";

/** A model as the command line or a hook names it. */
export interface ModelSource {
  readonly found: FoundDriver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
  /** The name by which clients know it; default: its path. */
  readonly name?: string;
  /** The folder of the pipeline's hook file. */
  readonly hookFolder?: string | undefined;
  /** The size of its files; absent = not known. */
  readonly fileBytes?: number;
}

/** Settings of the host. */
export interface StartModelOptions {
  /** Copies of the model, each in a thread of its own. */
  readonly instances: number;
  /** Threads that each copy's runtime may use; absent = the cores divided by the instances. */
  readonly threads?: number;
  /** Milliseconds of a still model thread after which it is replaced; 0 = never. */
  readonly modelStallMs: number;
  /** Runs each copy in a process of its own, which may crash without the server. Default false. */
  readonly isolate?: boolean;
  /** Ends loading in a process; threads cannot be ended. */
  readonly signal?: AbortSignal;
  /** Threads for small models; absent = each model has its own. */
  readonly sharedThreads?: SharedThreads;
  readonly log: Logger;
}

/** Called with a new connection to an instance; `resend` = the requests on the old one have not run. */
type ReconnectListener = (instance: number, port: MessagePort, resend: boolean) => void;

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
  /** Sets the requests that each replacement thread runs before it takes others; absent where there is no thread. */
  warmUpThreads?(warmUp: (copy: ModelHandle) => Promise<void>): void;
  /** True while any instance can answer. */
  isReady(): boolean;
  /** Its threads; absent where it has none. */
  threads?(): ThreadCounts;
  /** Waits for the last predict, then frees the model and ends its threads. */
  close(): Promise<void>;
}

/** Loads a model where its driver wants to be, in threads of its own or inline in this thread; isolated, in processes of its own. */
export async function startModel(source: ModelSource, options: StartModelOptions): Promise<ModelHost> {
  const { environment = {}, placement, name, isIsolated = false } = source.found.driver;
  if (options.isolate) {
    if (!isIsolated) return startCopies(source, options);
    options.log.info(`models of the ${name} driver run in processes of their own with and without --isolate`);
  }
  // Here, since a model thread has a copy of the environment, which native code does not see.
  for (const [name, value] of Object.entries(environment)) process.env[name] ??= value;
  return placement === "inline" ? startInline(source, options) : startCopies(source, options);
}

/** Files of a model that shares a thread, at most: its runs are short, and it loads in no time. */
const SMALL_BYTES = 1024 * 1024;

/** Checks if a model may share a thread: it is small, and nothing is lost where it is loaded and asked again. */
export function canShareThread(
  { found: { driver }, fileBytes = Number.POSITIVE_INFINITY }: Pick<ModelSource, "found" | "fileBytes">,
  { instances, sharedThreads, isolate }: Pick<StartModelOptions, "instances" | "sharedThreads" | "isolate">,
): boolean {
  const mayShare = sharedThreads !== undefined && isolate !== true;
  return mayShare && driver.sharesThread === true && instances === 1 && fileBytes <= SMALL_BYTES;
}

async function startCopies(source: ModelSource, options: StartModelOptions): Promise<ModelHost> {
  const { found, path, options: raw } = source;
  const { instances, threads = defaultThreads(instances), modelStallMs: stallMs, log } = options;
  const data = {
    driver: found.location,
    path,
    options: raw,
    logged: log.filter?.shared ?? log.level,
    threads,
    stallMs,
    // A thread's driver is not told: only inline ones are.
    ...(options.isolate && found.driver.placement === "inline" && { hookFolder: source.hookFolder }),
  };
  const listeners = new Set<{ readonly listener: ReconnectListener; readonly onMalformed: MalformedListener }>();
  const onReplaced: ReplacedListener = (instance, { connect, connectHere }, resend) => {
    handle.reconnect(instance, connectHere(), resend);
    for (const { listener, onMalformed } of listeners) listener(instance, connect(onMalformed), resend);
  };
  const sharesThread = canShareThread(source, options);
  let warmUp: (copy: ModelHandle) => Promise<void> = async () => {};
  const runFirst = (thread: ModelThread) => withHandle(thread, warmUp);
  const starts = options.isolate
    ? processStarts(toProcess(source), options.signal)
    : sharesThread && { start: sharedStart(options) };
  const parts = { data, log, onReplaced, runFirst, ...starts };
  const copies = await startAll(instances, (instance) => SupervisedModel.start(instance, parts));
  const { facts: own, hookArgs } = copies[0]!.thread;
  const facts: ModelFacts = sharesThread ? { ...own, sharesThread } : own;
  const handle = createModelClient({ facts, hookArgs, ports: copies.map((copy) => copy.connectHere()) });
  return {
    facts,
    hookArgs,
    handle,
    connect: (onMalformed) => copies.map((copy) => copy.connect(onMalformed)),
    onReconnect: (listener, onMalformed) => {
      const entry = { listener, onMalformed };
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    warmUpThreads: (run) => {
      warmUp = run;
    },
    isReady: () => copies.some((copy) => copy.isAlive),
    threads: () => sumThreads(copies.map(({ threads }) => threads)),
    close: async () => {
      await handle.close();
      await Promise.all(copies.map((copy) => copy.close()));
    },
  };
}

/** Lends a thread's model on a line of its own. */
async function withHandle(thread: ModelThread, use: (copy: ModelHandle) => Promise<void>): Promise<void> {
  const { facts, hookArgs } = thread;
  const handle = createModelClient({ facts, hookArgs, ports: [thread.connectHere()] });
  await use(handle).finally(() => handle.close());
}

function sharedStart({ sharedThreads, threads }: StartModelOptions): StartModelThread {
  return (data, log) => sharedThreads!.start({ ...data, hasThreads: threads !== undefined }, log);
}

function toProcess({ found: { driver }, path, name = path }: ModelSource): OwnProcess {
  return { name, environment: driver.environment ?? {} };
}

/** Each copy's runtime gets its share of the cores. */
function defaultThreads(instances: number): number {
  return Math.max(1, Math.floor(availableParallelism() / instances));
}

/** Starts one after the other, so that a model that does not load fails once. */
async function startAll(
  count: number,
  start: (instance: number) => Promise<SupervisedModel>,
): Promise<SupervisedModel[]> {
  const started: SupervisedModel[] = [];
  try {
    while (started.length < count) started.push(await start(started.length));
    return started;
  } catch (reason) {
    await Promise.all(started.map((copy) => copy.close()));
    throw reason;
  }
}

async function startInline(
  { found, path, options: raw, hookFolder }: ModelSource,
  { threads = 1, log }: StartModelOptions,
): Promise<ModelHost> {
  const preprocessor = new ImagePreprocessor(log);
  const preprocess: PreprocessInputs = (...preprocessing) => preprocessor.preprocess(...preprocessing);
  const handle = await loadHostedModel(
    { driver: found.driver, path, options: raw, threads, hookFolder, preprocess },
    log,
  );
  const close = async () => {
    await handle.close();
    await preprocessor.close();
  };
  return hostInline(handle, close);
}

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
    close,
  };
}
