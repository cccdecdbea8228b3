import type { Authentication } from "../access/authentication/authentication.ts";
import { ServingError } from "../errors.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import type { InFlight } from "../serving/admission.ts";
import type { InferenceService, UnloadOptions } from "../serving/inference-service.ts";
import type { LocalService } from "../serving/local-service.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { checkedModel } from "./checked-model.ts";
import type { NamedModelOptions } from "./named-model.ts";
import { type PredictChoices, predict, streamParts } from "./predict.ts";
import type { ServedModels } from "./served-models.ts";
import { type ServedVersion, toServedVersion } from "./served-version.ts";
import { type StageSummary, summarizeStages } from "./stage-summary.ts";
import type { Transports } from "./transports.ts";

/** A running server. */
export interface Server {
  /** `host:port`, or `unix:PATH` if gRPC has no port; empty if no port is open. */
  readonly grpcAddress: string;
  /** `http://host:port`, or `https://…`, if HTTP is served. */
  readonly httpUrl: string | undefined;
  /** The URL of the address for administration, if there is one. */
  readonly adminUrl: string | undefined;
  /** The URL of the address for metrics, if there is one. */
  readonly metricsUrl: string | undefined;
  /** True if connections are encrypted. */
  readonly isEncrypted: boolean;
  readonly service: InferenceService;
  /** The stages of the first model that is loaded. */
  readonly stages: readonly StageSummary[];
  /** Every version of every model, with its state. */
  models(): readonly ServedVersion[];
  /**
   * Loads a model's files as they are now; with options as they say, under a new name or in place of what
   * `createServer` or an earlier call said. What was loaded answers until the new one can. Rejects with why it cannot
   * be loaded, and leaves what was there.
   */
  load(name: string, options?: NamedModelOptions): Promise<void>;
  /**
   * Finishes a model's requests and frees it, until it is loaded again; rejects with `not_found` for an unknown name,
   * `failed_precondition` if other models need it, unless these `dependents` are to be unloaded too.
   */
  unload(name: string, options?: UnloadOptions): Promise<void>;
  /**
   * Runs a model on values by the names of its inputs, as a request of KServe V2 does, without a wire: numbers take the
   * dtype of the input, a typed array its shape, a Buffer is one `bytes` element (an image as its file). The outputs
   * are tensors. Throws {@link ServingError}.
   */
  predict(model: string, inputs: Values, choices?: PredictChoices): Promise<Tensors>;
  /**
   * The same, with the parts of the answer as they come: one of a model that answers once. To leave the loop ends the
   * request.
   */
  stream(model: string, inputs: Values, choices?: PredictChoices): AsyncGenerator<Tensors, void, undefined>;
  /** Calls back after each change of a version's state; returns a function that removes the listener. */
  onState(listener: (version: ServedVersion) => void): () => void;
  /** Inputs for an example request; if the model leaves sizes open, those with which it has run. */
  exampleInputs(): Promise<ExampleInputs | undefined>;
  /**
   * Replaces the hook threads by the hook file as it is now, without touching models or requests under way; throws, and
   * keeps the old ones, when the new file fails: the version's `error` says why. Hooks that were read after `since`, on
   * the clock of performance.now(), stay; default: now.
   */
  reloadHooks(since?: number): Promise<void>;
  /** The files that the hooks were made of; empty if they do not run in threads. */
  hookSources(): readonly string[];
  /** The running requests, oldest first; after a {@link Server.close} that timed out, those that it cut off. */
  inFlight(): readonly InFlight[];
  /**
   * Reports over every protocol that it is not ready, and asks clients to use other connections, but still answers
   * until {@link Server.close}, which should follow once load balancers send no more requests.
   */
  retire(): void;
  /**
   * Takes no new requests, finishes running ones, frees the models. Rejects with
   * `deadline_exceeded` when requests, or runs whose clients have left, were still running
   * at the drain timeout; their models stay loaded, since a run cannot be stopped.
   */
  close(): Promise<void>;
}

/** Parts of a server. */
interface ServerParts {
  readonly transports: Transports;
  readonly authentication: Authentication | undefined;
  readonly service: LocalService;
  readonly served: ServedModels;
  readonly closeModels: () => Promise<void>;
  readonly drainTimeoutMs: number;
}

/** Creates the server's public interface from its parts. */
export function toServer(parts: ServerParts): Server {
  const { transports, authentication, service, served, closeModels, drainTimeoutMs } = parts;
  const { manager } = served;
  let closed: Promise<void> | undefined;
  let cutOff: readonly InFlight[] = [];
  let example: Promise<ExampleInputs | undefined> | undefined;
  const close = async () => {
    const started = performance.now();
    authentication?.close();
    // Asked first, so that it sees who is still there before the transports cut them off.
    const emptied = service.admission.empty(drainTimeoutMs);
    const ended = transports.close(drainTimeoutMs);
    // Calls that had begun before the ports closed are let in, though their messages come later.
    await ended;
    service.admission.close();
    [cutOff] = await Promise.all([emptied, ended]);
    if (cutOff.length > 0) throw stillUnderWay(cutOff.length, drainTimeoutMs);
    // A run that its client has left may still go on, and cannot be stopped.
    // The trial run of an example, which no client needs, is not waited for at all.
    const waitMs = (await example)?.stillRuns ? 0 : drainTimeoutMs - (performance.now() - started);
    const leftMs = Math.max(MIN_UNLOAD_MS, waitMs);
    if (!(await settlesWithin(closeModels(), leftMs))) throw stillRunning(leftMs);
  };
  return {
    grpcAddress: transports.grpcAddress,
    httpUrl: transports.httpUrl,
    adminUrl: transports.adminUrl,
    metricsUrl: transports.metricsUrl,
    isEncrypted: transports.isEncrypted,
    service,
    stages: summarizeStages(manager.servables()[0]?.description.models ?? []),
    models: () => manager.statuses().map(toServedVersion),
    load: async (name, options) => served.load(name, checkedModel(name, options)),
    unload: (name, options) => served.unload(name, options),
    predict: (model, inputs, choices) => predict(service, { ...choices, model, inputs }),
    stream: (model, inputs, choices) => streamParts(service, { ...choices, model, inputs }),
    onState: (listener) => manager.onState((status) => listener(toServedVersion(status))),
    exampleInputs: () => {
      example = Promise.resolve(manager.servables()[0]?.exampleInputs());
      return example;
    },
    reloadHooks: (since) => manager.reloadHooks(since),
    hookSources: () => manager.servables().flatMap((servable) => servable.sources()),
    inFlight: () => (cutOff.length > 0 ? cutOff : service.admission.list()),
    retire: () => {
      service.retire();
      transports.retire();
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
