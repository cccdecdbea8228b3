import { AccessPolicy } from "../access/access-policy.ts";
import type { ControlAccess } from "../access/control-access.ts";
import { settlesWithin } from "../async/settles-within.ts";
import type { RawOptions } from "../drivers/option-table.ts";
import { ServingError } from "../errors.ts";
import type { Hooks } from "../hooks/hooks.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import { createSilentLogger, type Logger } from "../observability/logger.ts";
import { LazyRemote } from "../remote/lazy-remote.ts";
import type { ModelOptions } from "../repository/choose-stages.ts";
import { type LoadOptions, loadServable } from "../repository/load-servable.ts";
import type { InFlight } from "../serving/admission.ts";
import { Catalog } from "../serving/catalog.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { LocalService } from "../serving/local-service.ts";
import { ServableSlot } from "../serving/servable-slot.ts";
import type { ExampleInputs } from "../signature/example-inputs.ts";
import type { LooseSpec, TensorSpec } from "../signature/signature.ts";
import { checkServerOptions } from "./check-server-options.ts";
import { openWires, prepareWires, type WireOptions, type Wires } from "./open-wires.ts";

/** What to serve, and where. */
export interface ServerOptions {
  /** The stages, in order. */
  readonly models: readonly ModelOptions[];
  /** A hook file's path, or hooks as they are. */
  readonly hooks?: string | Hooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options?: RawOptions;
  /** The model's name on every wire. Default `default`. */
  readonly name?: string;
  /** Address to listen on, gRPC and HTTP alike. Default 127.0.0.1. */
  readonly host?: string;
  /** gRPC port; 0 (default) picks a free one. */
  readonly port?: number;
  /** Serves HTTP too; port 0 (default) picks a free one, the gRPC port's number shares it. */
  readonly http?: { readonly port?: number };
  /** The largest message or body taken, in bytes. Default 256 MB. */
  readonly maxMessageBytes?: number;
  /** Whether TensorFlow Serving answers carry raw `tensor_content` instead of typed fields. Default false. */
  readonly tensorContent?: boolean;
  /** Clients that may change the server (load and unload models, change what is logged): programs on this machine, or all. Default `off`: none. */
  readonly allowControl?: ControlAccess;
  /** Origins whose web pages may run models: `*` or `SCHEME://HOST[:PORT]`. Default: none but the server's own. */
  readonly corsOrigins?: readonly string[];
  /** Whether the log has a line for each request: model, version, status, sizes and times. Default false. */
  readonly accessLog?: boolean;
  /** Threads that run the hook file; 0 = hooks run in the main thread. Default 1. */
  readonly workers?: number;
  /** Copies of each model, each in a thread of its own. Default 1. */
  readonly instances?: number;
  /** Threads that each copy's runtime may use. Default: the cores divided by the instances. */
  readonly threads?: number;
  /** After which a hook's pending promise fails its request; 0 = never. Default 60 s. */
  readonly hookTimeoutMs?: number;
  /** After which a hook thread whose event loop stands still is replaced; 0 = never. Default 10 s. */
  readonly hookStallMs?: number;
  /** After which a model thread whose event loop stands still is replaced; 0 = never. Default 60 s. */
  readonly modelStallMs?: number;
  /** What a hook thread may hold in its JavaScript heap, and as much again in buffers, in megabytes. Default 2048. */
  readonly hookMemoryMb?: number;
  /** Lets a debugger attach to the hook threads. Default false. */
  readonly inspectHooks?: boolean;
  /** Requests under way at most, waiting or running; more are refused with `unavailable`. Default 1024. */
  readonly maxQueue?: number;
  /** Bytes of the requests under way at most. Default 512 MB. */
  readonly maxQueueBytes?: number;
  /** After which a request fails with `deadline_exceeded`, where its client sets no earlier deadline; 0 = never. Default 0. */
  readonly requestTimeoutMs?: number;
  /** How long a client may take nothing of an answer before it is cut, in milliseconds; 0 = for ever. Default 60 s. */
  readonly sendTimeoutMs?: number;
  /** How long {@link Server.close} waits for requests under way. Default 25 s. */
  readonly drainTimeoutMs?: number;
  /** Default: silent. */
  readonly log?: Logger;
}

/** A running server. */
export interface Server {
  /** `host:port`. */
  readonly grpcAddress: string;
  /** `http://host:port`, where HTTP is served. */
  readonly httpUrl: string | undefined;
  readonly service: InferenceService;
  readonly stages: readonly StageSummary[];
  /** Inputs for a first request, for the example that people are shown: where the model leaves sizes open, such as it was tried on. */
  exampleInputs(): Promise<ExampleInputs | undefined>;
  /** Replaces the hook threads by the hook file as it is now, without touching models or requests under way; throws, and keeps the old ones, when the new file fails. */
  reloadHooks(): Promise<void>;
  /** The files that the hooks were made of; empty where they do not run in threads. */
  hookSources(): readonly string[];
  /** The requests under way, oldest first; after a {@link Server.close} that was not in time, those that it cut off. */
  inFlight(): readonly InFlight[];
  /**
   * Takes no new requests, finishes those under way, frees the models.
   * Rejects with `deadline_exceeded` when requests, or runs whose clients are gone, were still under way at the drain timeout; their models stay loaded, since a run cannot be stopped.
   */
  close(): Promise<void>;
}

/** One stage of a running server. */
export interface StageSummary {
  /** From 1. */
  readonly index: number;
  readonly driver: string;
  readonly path: string;
  /** What runs it, with version and place: `ONNX Runtime 1.30.0 of the runtimes folder`. */
  readonly runtime?: string;
  /** Undefined = any. Those whose dtype is not known are not checked before the model runs. */
  readonly inputs: readonly LooseSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly loadMs: number;
}

/**
 * Loads models and hooks, then listens. Installs no signal handlers and never ends the process.
 * Throws `failed_precondition` for a model or hook file that does not load, before any port opens.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  // Read by ONNX Runtime when its library loads, which then sends nothing and writes nothing to the user's home.
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
  checkServerOptions(options);
  const choices = withDefaults(options);
  const remote = new LazyRemote();
  const { name, models, hooks, options: raw, maxQueue, maxQueueBytes, requestTimeoutMs, drainTimeoutMs } = choices;
  const source = { name, version: 1n, models, options: raw, ...(hooks !== undefined && { hooks }) };
  const wires = wireOptions(choices);
  prepareWires(wires);
  const loaded = await loadServable(source, loadOptions(choices, remote));
  const load = async () => (await loadServable(source, loadOptions(choices, remote))).servable;
  const slot = new ServableSlot(source, load, loaded.servable);
  const catalog = new Catalog();
  catalog.add(slot);
  const service = new LocalService(catalog, {
    maxCount: maxQueue,
    maxBytes: maxQueueBytes,
    requestTimeoutMs,
    log: choices.log,
  });
  const closeModels = async () => {
    await slot.unload();
    await remote.close();
  };
  try {
    const opened = await openWires(service, { ...wires, memory: service.memory });
    return toServer({ wires: opened, service, slot, models: loaded.models, closeModels, drainTimeoutMs });
  } catch (reason) {
    await closeModels();
    throw reason;
  }
}

/** Free ports of this machine alone: others are to be asked for. */
const EMBEDDED_DEFAULTS = { ...SERVER_DEFAULTS, host: "127.0.0.1", port: 0, options: {} };

type Choices = ServerOptions & Required<Pick<ServerOptions, keyof typeof EMBEDDED_DEFAULTS | "log">>;

/** An option that is undefined counts as left out. */
function withDefaults(options: ServerOptions): Choices {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...EMBEDDED_DEFAULTS, log: createSilentLogger(), ...Object.fromEntries(given) } as Choices;
}

function loadOptions(choices: Choices, remote: LazyRemote): LoadOptions {
  const { workers, instances, threads, modelStallMs, log, hookTimeoutMs } = choices;
  const { hookStallMs: stallMs, hookMemoryMb: memoryMb, inspectHooks: inspect } = choices;
  const thread = { hookTimeoutMs, stallMs, memoryMb, inspect };
  return { workers, instances, modelStallMs, ...(threads !== undefined && { threads }), thread, remote, log };
}

function wireOptions(choices: Choices): WireOptions {
  const { host, port, http, tensorContent, accessLog, maxMessageBytes, sendTimeoutMs, log } = choices;
  const httpPort = http && { httpPort: http.port ?? 0 };
  const policy = new AccessPolicy(choices);
  return { host, port, ...httpPort, tensorContent, policy, accessLog, maxMessageBytes, sendTimeoutMs, log };
}

interface ServerParts {
  readonly wires: Wires;
  readonly service: LocalService;
  readonly slot: ServableSlot;
  readonly models: readonly ModelFacts[];
  readonly closeModels: () => Promise<void>;
  readonly drainTimeoutMs: number;
}

function toServer({ wires, service, slot, models, closeModels, drainTimeoutMs }: ServerParts): Server {
  let closed: Promise<void> | undefined;
  let cutOff: readonly InFlight[] = [];
  const close = async () => {
    const started = performance.now();
    service.admission.close();
    // Asked first, so that it sees who is still there before the wires cut them off.
    [cutOff] = await Promise.all([service.admission.empty(drainTimeoutMs), wires.close(drainTimeoutMs)]);
    if (cutOff.length > 0) throw stillUnderWay(cutOff.length, drainTimeoutMs);
    // A run that its client has left may still go on, and cannot be stopped.
    const leftMs = Math.max(MIN_UNLOAD_MS, drainTimeoutMs - (performance.now() - started));
    if (!(await settlesWithin(closeModels(), leftMs))) throw stillRunning(leftMs);
  };
  return {
    grpcAddress: wires.grpcAddress,
    httpUrl: wires.httpUrl,
    service,
    stages: models.map(summarize),
    exampleInputs: async () => slot.servable?.exampleInputs(),
    reloadHooks: async () => slot.servable?.reload(),
    hookSources: () => slot.servable?.sources() ?? [],
    inFlight: () => (cutOff.length > 0 ? cutOff : service.admission.list()),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

function summarize(model: ModelFacts, index: number): StageSummary {
  const { driver, path, runtime, loadMs, signatures, defaultSignature } = model;
  const { inputs, suggestedInputs, outputs } = signatures[defaultSignature] ?? {};
  return {
    index: index + 1,
    driver,
    path,
    ...(runtime !== undefined && { runtime }),
    inputs: inputs ?? suggestedInputs,
    outputs,
    loadMs,
  };
}

/** How long models have at least to be freed, in milliseconds. */
const MIN_UNLOAD_MS = 1000;

function stillRunning(afterMs: number): ServingError {
  const message = `A model still runs ${Math.round(afterMs)} ms after its last request was over.`;
  return new ServingError("deadline_exceeded", message);
}

function stillUnderWay(count: number, afterMs: number): ServingError {
  const requests = count === 1 ? "1 request was" : `${count} requests were`;
  return new ServingError("deadline_exceeded", `${requests} still under way after ${afterMs} ms.`);
}
