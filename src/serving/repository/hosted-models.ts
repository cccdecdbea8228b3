import type { MessagePort } from "node:worker_threads";
import type { Driver } from "../../drivers/driver.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { findDriver } from "../../drivers/registry.ts";
import { invalidArgument } from "../../errors.ts";
import type { LeasedModel, MalformedListener, ModelProvider, WantedModel } from "../../hooks/host/hook-leases.ts";
import type { ModelConnection } from "../../hooks/host/hook-protocol.ts";
import { SERVED } from "../../hooks/host/other-models.ts";
import type { ModelHandle } from "../../models/model-handle.ts";
import type { ModelHost } from "../../models/model-host.ts";
import type { StartModelOptions } from "../../models/model-to-load.ts";
import { startModel } from "../../models/start-model.ts";
import { withoutAutoTexts } from "../../models/texts/text-options.ts";
import type { InferenceService } from "../inference-service.ts";
import type { RecordedRequests } from "../recorded-request.ts";
import { assertTakesOptions } from "./choose-stages.ts";
import { hostServed } from "./host-served.ts";
import { WarmUp } from "./warm-up/warm-up.ts";

/** Leases a servable's models to its hooks, and loads further models that hooks ask for. */
export class HostedModels implements ModelProvider {
  readonly #hosts: readonly ModelHost[];
  readonly #shared = new SharedModels();
  readonly #options: HostedModelsOptions;
  readonly #hookFolder: string | undefined;

  /** `hookFolder` is the hook file's folder, for models with code next to it. */
  constructor(hosts: readonly ModelHost[], options: HostedModelsOptions, hookFolder: string | undefined) {
    this.#hosts = hosts;
    this.#options = options;
    this.#hookFolder = hookFolder;
  }

  /** The models as used by the main thread. */
  get handles(): readonly ModelHandle[] {
    return this.#hosts.map(({ handle }) => handle);
  }

  stages(onMalformed: MalformedListener): readonly ModelConnection[] {
    return this.#hosts.map((host) => connectionTo(host, onMalformed));
  }

  onReconnect(
    listener: (stage: number, instance: number, port: MessagePort, resend: boolean) => void,
    onMalformed: MalformedListener,
  ): () => void {
    const stops = this.#hosts.map((host, stage) =>
      host.onReconnect((instance, port, resend) => listener(stage, instance, port, resend), onMalformed),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  async load({ driver, path, options }: WantedModel, onMalformed: MalformedListener): Promise<LeasedModel> {
    const { host, release } = await this.#acquire(driver, path, options);
    return { connection: connectionTo(host, onMalformed), close: release };
  }

  /** The models as used by hooks in the main thread. */
  async loadHere(driver: string, path: string, options: RawOptions): Promise<ModelHandle> {
    const { host, release } = await this.#acquire(driver, path, options);
    return { ...host.handle, close: release };
  }

  async #acquire(name: string, path: string, options: RawOptions) {
    // Not shared: it is found as it is now.
    if (name === SERVED) return { host: await hostServed(this.#options.own, { model: path }), release: async () => {} };
    const key = JSON.stringify([name, path, Object.entries(options).sort()]);
    return this.#shared.acquire(key, () => this.#start(name, path, options));
  }

  /**
   * Starts a model. The code compiled for its driver is kept as long as the model, since a replacement thread imports
   * it again.
   */
  async #start(name: string, path: string, options: RawOptions): Promise<ModelHost> {
    const found = await findDriver(name);
    try {
      assertLoadable(found.driver, path, options);
      const own = { found, path, options: withoutAutoTexts(options), hookFolder: this.#hookFolder };
      const host = await startModel(own, this.#options);
      await this.#warmUp(host);
      return { ...host, close: () => host.close().finally(() => found.dispose()) };
    } catch (reason) {
      await found.dispose();
      throw reason;
    }
  }

  /** A model that fails its own warm-up requests is freed, like one that does not load. */
  async #warmUp(host: ModelHost): Promise<void> {
    const { instances, recorded, savedModelWarmup, log } = this.#options;
    const { path } = host.facts;
    const parts = { name: path, version: 1n, entries: [], workers: 0, recorded, savedModelWarmup, log };
    const warmUp = new WarmUp({ ...parts, instances });
    host.warmUpThreads?.((copy) => new WarmUp({ ...parts, instances: 1 }).copy(copy, 0, false));
    try {
      await warmUp.models([host]);
      warmUp.end();
    } catch (reason) {
      await host.close();
      throw reason;
    }
  }
}

/** Settings of models that hooks load. */
export interface HostedModelsOptions extends StartModelOptions {
  /** Reads the requests of warm-up files; absent = no file is run. */
  readonly recorded?: RecordedRequests;
  /** Runs of each warm-up request in a SavedModel. Default 1. */
  readonly savedModelWarmup?: number;
  /** The service by which hooks and pipelines call the server's other models; absent = there is none. */
  readonly own?: InferenceService;
}

function assertLoadable(driver: Driver, path: string, options: RawOptions): void {
  if (path === "" && !driver.pathless) {
    throw invalidArgument(`The ${driver.name} driver needs a model; expected its path in loadModel.`);
  }
  assertTakesOptions(driver, options, `loadModel("${driver.name}", "${path}")`);
}

function connectionTo({ facts, hookArgs, connect }: ModelHost, onMalformed: MalformedListener): ModelConnection {
  return { facts, hookArgs, ports: connect(onMalformed) };
}

/** Models that hooks load themselves: one copy for equal keys, closed when its last holder lets go. */
class SharedModels {
  readonly #models = new Map<string, { readonly host: Promise<ModelHost>; holders: number }>();

  /** Starts the model, or joins those who hold it; each caller releases it once. */
  async acquire(
    key: string,
    start: () => Promise<ModelHost>,
  ): Promise<{ readonly host: ModelHost; release(): Promise<void> }> {
    const shared = this.#models.get(key) ?? { host: start(), holders: 0 };
    this.#models.set(key, shared);
    shared.holders++;
    try {
      const host = await shared.host;
      return { host, release: once(() => this.#release(key)) };
    } catch (reason) {
      this.#models.delete(key);
      throw reason;
    }
  }

  async #release(key: string): Promise<void> {
    const shared = this.#models.get(key);
    if (shared === undefined) return;
    shared.holders--;
    if (shared.holders > 0) return;
    this.#models.delete(key);
    await (await shared.host).close();
  }
}

function once(task: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= task();
    return done;
  };
}
