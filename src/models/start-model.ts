import type { ModelCopies } from "../drivers/driver.ts";
import { sumThreads } from "../observability/thread-states.ts";
import { unlessAborted } from "../platform/async/cancel-source.ts";
import { processors } from "../platform/machine/container.ts";
import type { MalformedListener } from "../platform/threads/host-port.ts";
import { deathsOf, takeMark } from "./crash-marks.ts";
import { LaneMark } from "./fast-lane/lane-mark.ts";
import { openFastLane, withFastLane } from "./fast-lane/open-fast-lane.ts";
import { hostInline } from "./host-inline.ts";
import type { PreprocessInputs } from "./images/image-input.ts";
import { ImagePreprocessor } from "./images/image-preprocessor.ts";
import { loadHostedModel } from "./load-hosted-model.ts";
import { isBatched, type ModelFacts } from "./model-facts.ts";
import type { ModelHandle } from "./model-handle.ts";
import type { ModelHost, ReconnectListener } from "./model-host.ts";
import { canShareThread, type ModelToLoad, runsInline, type StartModelOptions } from "./model-to-load.ts";
import { createModelClient, type ModelClient } from "./threads/model-client.ts";
import type { ModelThread } from "./threads/model-thread.ts";
import type { ModelThreadData } from "./threads/model-thread-messages.ts";
import { type StartModelThread, startModelThread } from "./threads/start-model-thread.ts";
import { type ReplacedListener, SupervisedModel } from "./threads/supervised-model.ts";

/** Bytes of the memory that copies have in common. */
const COMMON_BYTES = 64;

/**
 * Loads a model in this thread or in its own threads, as its driver declares; isolated, in its own processes. A
 * driver that is an object of this thread runs in it.
 */
export async function startModel(source: ModelToLoad, options: StartModelOptions): Promise<ModelHost> {
  const { driver, isHere = false } = source.found;
  const { environment = {}, name, isIsolated = false } = driver;
  const deaths = isIsolated ? 0 : deathsOf(source);
  if (deaths > 0) warnIsolated(source, deaths, options);
  if ((options.isolate || deaths > 0) && !isHere) {
    if (!isIsolated) return startCopies(source, { ...options, isolate: true });
    options.log.info(`models of the ${name} driver run in processes of their own with and without --isolate`);
  }
  // Here, since a model thread has a copy of the environment, which native code does not see.
  for (const [name, value] of Object.entries(environment)) process.env[name] ??= value;
  if (runsInline(source)) return startInline(source, options);
  return startCopies(source, isIsolated ? { ...options, isolate: false } : options);
}

function warnIsolated({ name, path }: ModelToLoad, deaths: number, { log }: StartModelOptions): void {
  const times = deaths === 1 ? "ended" : `ended ${deaths} times`;
  log.warn(`the server's process has ${times} while this model ran; the model gets a process of its own`, {
    model: name ?? path,
    path,
  });
}

async function startInline(
  { found, path, name = path, options: raw, hookFolder }: ModelToLoad,
  { threads = 1, signal, log }: StartModelOptions,
): Promise<ModelHost> {
  const preprocessor = new ImagePreprocessor(log);
  const preprocess: PreprocessInputs = (...preprocessing) => preprocessor.preprocess(...preprocessing);
  const { driver, location, isHere = false } = found;
  const foreignName = isHere || "file" in location ? name : undefined;
  const source = { driver, path, options: raw, threads, hookFolder, signal, preprocess, foreignName };
  const handle = await loadHostedModel(source, log);
  const close = async () => {
    await handle.close();
    await preprocessor.close();
  };
  return hostInline(isBatched(handle) ? givenUpAlone(handle) : handle, close);
}

/** A model whose requests are given up at once, though the batch that they are in goes on for the others. */
function givenUpAlone(handle: ModelHandle): ModelHandle {
  return { ...handle, predict: (inputs, call) => unlessAborted(handle.predict(inputs, call), call.signal) };
}

/** Loads the copies of a model, each in its own supervised thread or process; a small one in a shared thread. */
async function startCopies(source: ModelToLoad, options: StartModelOptions): Promise<ModelHost> {
  const { log } = options;
  const mark = new LaneMark();
  const users = new CopyUsers();
  let handle: ModelClient | undefined;
  const onReplaced: ReplacedListener = (instance, thread, resend) => {
    // A copy may be lost while others load; the handle is made of those that are there then.
    handle?.reconnect(instance, thread.connectHere(), resend);
    users.reconnect(instance, thread, resend);
  };
  const sharesThread = canShareThread(source, options);
  // Such a driver's models cannot have ended the server.
  const isOwn = source.found.driver.isIsolated === true;
  const marks = options.isolate || isOwn ? undefined : takeMark(source);
  let warmUp: (copy: ModelHandle) => Promise<void> = async () => {};
  const runFirst = (thread: ModelThread) => withHandle(thread, warmUp);
  const starts = options.isolate ? await ownProcesses(source, options) : threadStarts(options, sharesThread);
  const parts = {
    data: { ...toThreadData(source, options, mark), mark: marks?.place },
    log,
    onReplaced,
    runFirst,
    signal: options.signal,
    ...starts,
  };
  const copies = await startAll(options.instances, (instance) =>
    SupervisedModel.start(instance, { ...parts, lostBefore: instance === 0 && !isOwn ? deathsOf(source) : 0 }),
  ).catch((reason) => {
    marks?.free();
    throw reason;
  });
  const { facts: own, hookArgs } = copies[0]!.thread;
  const facts: ModelFacts = sharesThread ? { ...own, sharesThread } : own;
  const client = createModelClient({ facts, hookArgs, ports: copies.map((copy) => copy.connectHere()) });
  const lane = openFastLane(source, facts, { mark, place: marks?.place, log });
  const plain = options.isolate ? refusedWithout(copies, client) : client;
  const made = lane === undefined ? plain : withFastLane(plain, lane);
  handle = made;
  return {
    facts,
    hookArgs,
    handle: made,
    connect: (onMalformed) => copies.map((copy) => copy.connect(onMalformed)),
    onReconnect: (listener, onMalformed) => users.add(listener, onMalformed),
    warmUpThreads: (run) => {
      warmUp = run;
    },
    isReady: () => copies.some((copy) => copy.isReady),
    threads: () => sumThreads(copies.map(({ threads }) => threads)),
    close: async () => {
      await made.close();
      await Promise.all(copies.map((copy) => copy.close()));
      marks?.free();
    },
  };
}

/** A client that says why there is no process of the model, if there is none. */
function refusedWithout(copies: readonly SupervisedModel[], client: ModelClient): ModelClient {
  return {
    ...client,
    predict: async (inputs, call) => {
      const refusals = copies.map(({ refusal }) => refusal);
      if (refusals.every((refusal) => refusal !== undefined)) throw refusals[0];
      return client.predict(inputs, call);
    },
  };
}

/** The data that each copy's thread starts with. */
function toThreadData(source: ModelToLoad, options: StartModelOptions, mark: LaneMark): ModelThreadData {
  const { found, path, name = path, options: raw, hookFolder } = source;
  const { instances, modelStallMs: stallMs, isolate, log } = options;
  // One as in this thread: more of them in a busy machine's Python wait for each other.
  const { threads = found.driver.placement === "inline" ? 1 : defaultThreads(instances) } = options;
  return {
    driver: found.location,
    name,
    path,
    options: raw,
    logged: log.filter?.shared ?? log.level,
    threads,
    stallMs,
    ...(instances > 1 && isolate !== true && { copies: createCopies(instances) }),
    laneMark: mark.memory,
    // Only inline drivers get it.
    ...(found.driver.placement === "inline" && { hookFolder }),
  };
}

/** Calls back with a thread's model over a separate connection. */
async function withHandle(thread: ModelThread, use: (copy: ModelHandle) => Promise<void>): Promise<void> {
  const { facts, hookArgs } = thread;
  const handle = createModelClient({ facts, hookArgs, ports: [thread.connectHere()] });
  await use(handle).finally(() => handle.close());
}

function threadStarts({ sharedThreads, keptThreads, threads }: StartModelOptions, sharesThread: boolean) {
  const startAlone = keptThreads?.start ?? startModelThread;
  const startShared: StartModelThread = (data, log) =>
    sharedThreads!.start({ ...data, hasThreads: threads !== undefined }, log);
  return { startAlone, start: sharesThread ? startShared : startAlone };
}

/** Nearly no server needs the code. */
async function ownProcesses({ found: { driver } }: ModelToLoad, { signal }: StartModelOptions) {
  const { processStarts } = await import("./processes/model-process.ts");
  return processStarts({ environment: driver.environment ?? {} }, signal);
}

function createCopies(count: number): ModelCopies {
  return { count, memory: new SharedArrayBuffer(COMMON_BYTES) };
}

/** Each copy's runtime gets its share of the cores. */
function defaultThreads(instances: number): number {
  return Math.max(1, Math.floor(processors() / instances));
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

/** The users of a model's copies in other threads, each of which gets a connection to a copy that was replaced. */
class CopyUsers {
  readonly #users = new Set<{ readonly listener: ReconnectListener; readonly onMalformed: MalformedListener }>();

  /** Returns a function that removes the user. */
  add(listener: ReconnectListener, onMalformed: MalformedListener): () => void {
    const user = { listener, onMalformed };
    this.#users.add(user);
    return () => this.#users.delete(user);
  }

  /** Connects all of them to the thread that a copy has now. */
  reconnect(instance: number, { connect }: ModelThread, resend: boolean): void {
    for (const { listener, onMalformed } of this.#users) listener(instance, connect(onMalformed), resend);
  }
}
