import type { Authentication } from "../access/authentication/authentication.ts";
import { keepFresh } from "../access/authentication/keep-fresh.ts";
import { openAuthentication } from "../access/authentication/open-authentication.ts";
import { TlsFiles } from "../access/tls-files.ts";
import { TrustedProxies } from "../access/trusted-proxies.ts";
import { settlesWithin } from "../async/settles-within.ts";
import { ServingError } from "../errors.ts";
import { LazyRemote } from "../remote/lazy-remote.ts";
import { RequestLogs } from "../request-log/request-logs.ts";
import type { InFlight } from "../serving/admission.ts";
import type { DescribedModel } from "../serving/described-model.ts";
import type { InferenceService, UnloadOptions } from "../serving/inference-service.ts";
import { LocalService } from "../serving/local-service.ts";
import { ModelMemory } from "../serving/model-memory.ts";
import type { ExampleInputs } from "../signature/example-inputs.ts";
import { openTracing } from "../tracing/open-tracing.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { checkedModel } from "./checked-model.ts";
import { GuardedService } from "./guarded-service.ts";
import type { ModelSource } from "./model-source.ts";
import type { NamedModelOptions } from "./named-model.ts";
import { NamedModels } from "./named-models.ts";
import { openWires, prepareWires, type WireOptions, type Wires } from "./open-wires.ts";
import { toLoadOptions, toManagerOptions, toRequestLogDefaults, toWireOptions } from "./option-groups.ts";
import { PipelineSource } from "./pipeline-source.ts";
import { ServedModels } from "./served-models.ts";
import { type ServedVersion, toServedVersion } from "./served-version.ts";
import { type ServerChoices, type ServerOptions, withDefaults } from "./server-options.ts";
import { type StageSummary, summarizeStages } from "./stage-summary.ts";

/** A running server. */
export interface Server {
  /** `host:port`, or `unix:PATH` where gRPC has no port. */
  readonly grpcAddress: string;
  /** `http://host:port`, or `https://…`, where HTTP is served. */
  readonly httpUrl: string | undefined;
  /** The same of the address for administration, where there is one of its own. */
  readonly adminUrl: string | undefined;
  /** True where connections are encrypted. */
  readonly isEncrypted: boolean;
  readonly service: InferenceService;
  /** The stages of the first model that is loaded. */
  readonly stages: readonly StageSummary[];
  /** Every version of every model, with its state. */
  models(): readonly ServedVersion[];
  /**
   * Loads a model's files as they are now; with options as they say, under a new name or in place of what `createServer` or an earlier
   * call said. What was loaded answers until the new one can. Rejects with why it cannot be loaded, and leaves what was there.
   */
  load(name: string, options?: NamedModelOptions): Promise<void>;
  /**
   * Finishes a model's requests and frees it, until it is loaded again; rejects with `not_found` for an unknown name, `failed_precondition`
   * where other models need it, unless these `dependents` are to be unloaded too.
   */
  unload(name: string, options?: UnloadOptions): Promise<void>;
  /** Calls back after each change of a version's state; returns how to stop that. */
  onState(listener: (version: ServedVersion) => void): () => void;
  /** Inputs for a first request, for the example that people are shown: where the model leaves sizes open, such as it was tried on. */
  exampleInputs(): Promise<ExampleInputs | undefined>;
  /** Replaces the hook threads by the hook file as it is now, without touching models or requests under way; throws, and keeps the old ones, when the new file fails: the version's `error` says why. */
  reloadHooks(): Promise<void>;
  /** The files that the hooks were made of; empty where they do not run in threads. */
  hookSources(): readonly string[];
  /** The requests under way, oldest first; after a {@link Server.close} that was not in time, those that it cut off. */
  inFlight(): readonly InFlight[];
  /**
   * Says on every wire that it is not ready, asks clients to use other connections, and goes on answering until {@link Server.close},
   * which should come once load balancers send nothing more.
   */
  retire(): void;
  /**
   * Takes no new requests, finishes those under way, frees the models.
   * Rejects with `deadline_exceeded` when requests, or runs whose clients are gone, were still under way at the drain timeout; their models stay loaded, since a run cannot be stopped.
   */
  close(): Promise<void>;
}

/**
 * Loads models and hooks, then listens. Installs no signal handlers and never ends the process.
 * Throws `failed_precondition`, before any port opens, where the only model or its hooks do not load, or none of several.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  checkServerOptions(options);
  const choices = withDefaults(options);
  const { models } = options;
  return openServer(choices, models === undefined ? new PipelineSource(choices) : new NamedModels(models));
}

/** A server of the models that a source describes; else as {@link createServer}. `onState` hears of the first loads too. */
export async function openServer(
  choices: ServerChoices,
  source: ModelSource,
  onState: (version: ServedVersion) => void = () => {},
): Promise<Server> {
  const { maxQueue: maxCount, maxQueueBytes: maxBytes, requestTimeoutMs, drainTimeoutMs, failFast, log } = choices;
  await checkRemoteTls(choices);
  const remote = new LazyRemote(choices.remoteTls);
  const authentication = await openCallers(choices);
  const tracer = choices.tracing ? await openTracing(process.env, log) : undefined;
  const wires = { ...toWireOptions(choices, authentication), ...(await openTlsFiles(choices)), tracer };
  prepareWires(wires);
  const memory = new ModelMemory({ maxBytes: choices.modelMemoryBytes, isChecked: choices.memoryCheck });
  const served = new ServedModels(source, { manager: toManagerOptions(choices, memory), failFast, log });
  served.manager.onState((status) => onState(toServedVersion(status)));
  const recorder = new RequestLogs(toRequestLogDefaults(choices), log);
  let service: LocalService | undefined;
  const stopLooking = authentication && keepFresh(authentication, log);
  const closeModels = async () => {
    stopLooking?.();
    service?.memory.close();
    await recorder.close();
    await served.close();
    await remote.close();
    await tracer?.close();
  };
  try {
    const reconfigure = (models: readonly DescribedModel[]) => served.reconfigure(models);
    const lookAgain = () => served.look();
    const limits = { maxCount, maxBytes, requestTimeoutMs };
    const load = served.loadFor.bind(served);
    const unload = served.unload.bind(served);
    const loadable = served.loadable.bind(served);
    service = new LocalService(served.manager, {
      ...limits,
      reconfigure,
      lookAgain,
      load,
      unload,
      loadable,
      recorder,
      log,
    });
    await recorder.check();
    await served.start(toLoadOptions(choices, { remote, memory, own: service }), source instanceof PipelineSource);
    const opened = await openWires(authentication ? new GuardedService(service) : service, {
      ...wires,
      memory: service.memory,
    });
    return toServer({ wires: opened, service, served, closeModels, drainTimeoutMs });
  } catch (reason) {
    await closeModels();
    throw reason;
  }
}

/** Throws `failed_precondition` for files that cannot be used, before a hook needs them. */
async function checkRemoteTls({ remoteTls }: ServerChoices): Promise<void> {
  if (remoteTls === undefined) return;
  const { clientCredentials } = await import("../remote/client-credentials.ts");
  clientCredentials(true, remoteTls);
}

/** The address for administration has files of its own, each port hears of their changes then. */
async function openTlsFiles({ tls, admin }: ServerChoices): Promise<Pick<WireOptions, "tls" | "admin">> {
  const open = async () => tls && TlsFiles.open(tls);
  if (admin === undefined) return { tls: await open() };
  const { host = "127.0.0.1", port = 0 } = admin;
  return { tls: await open(), admin: { host, port, tls: await open() } };
}

/** Undefined where nobody needs a name. */
async function openCallers({ auth, tls, trustedProxies = [] }: ServerChoices): Promise<Authentication | undefined> {
  const proxies = new TrustedProxies(trustedProxies);
  return auth && openAuthentication(auth, { proxies, hasCertificates: tls?.clientCa !== undefined });
}

interface ServerParts {
  readonly wires: Wires;
  readonly service: LocalService;
  readonly served: ServedModels;
  readonly closeModels: () => Promise<void>;
  readonly drainTimeoutMs: number;
}

function toServer({ wires, service, served, closeModels, drainTimeoutMs }: ServerParts): Server {
  const { manager } = served;
  let isRetired = false;
  let closed: Promise<void> | undefined;
  let cutOff: readonly InFlight[] = [];
  let example: Promise<ExampleInputs | undefined> | undefined;
  const close = async () => {
    const started = performance.now();
    // Asked first, so that it sees who is still there before the wires cut them off.
    const emptied = service.admission.empty(drainTimeoutMs);
    const ended = wires.close(drainTimeoutMs);
    // Where clients were asked to leave, calls that had begun before the ports closed are let in, though their messages come later.
    if (isRetired) await ended;
    service.admission.close();
    [cutOff] = await Promise.all([emptied, ended]);
    if (cutOff.length > 0) throw stillUnderWay(cutOff.length, drainTimeoutMs);
    // A run that its client has left may still go on, and cannot be stopped.
    // The try of an example, whose run nobody needs, is not waited for at all.
    const waitMs = (await example)?.stillRuns ? 0 : drainTimeoutMs - (performance.now() - started);
    const leftMs = Math.max(MIN_UNLOAD_MS, waitMs);
    if (!(await settlesWithin(closeModels(), leftMs))) throw stillRunning(leftMs);
  };
  return {
    grpcAddress: wires.grpcAddress,
    httpUrl: wires.httpUrl,
    adminUrl: wires.adminUrl,
    isEncrypted: wires.isEncrypted,
    service,
    stages: summarizeStages(manager.servables()[0]?.models ?? []),
    models: () => manager.statuses().map(toServedVersion),
    load: async (name, options) => served.load(name, checkedModel(name, options)),
    unload: (name, options) => served.unload(name, options),
    onState: (listener) => manager.onState((status) => listener(toServedVersion(status))),
    exampleInputs: () => {
      example = Promise.resolve(manager.servables()[0]?.exampleInputs());
      return example;
    },
    reloadHooks: () => manager.reloadHooks(),
    hookSources: () => manager.servables().flatMap((servable) => servable.sources()),
    inFlight: () => (cutOff.length > 0 ? cutOff : service.admission.list()),
    retire: () => {
      isRetired = true;
      service.retire();
      wires.retire();
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

/** Milliseconds that models have at least to be freed. */
const MIN_UNLOAD_MS = 1000;

function stillRunning(afterMs: number): ServingError {
  const message = `A model still runs ${Math.round(afterMs)} ms after its last request was over.`;
  return new ServingError("deadline_exceeded", message);
}

function stillUnderWay(count: number, afterMs: number): ServingError {
  const requests = count === 1 ? "1 request was" : `${count} requests were`;
  return new ServingError("deadline_exceeded", `${requests} still under way after ${afterMs} ms.`);
}
