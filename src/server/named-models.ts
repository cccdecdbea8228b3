import type { AspiredModel } from "../serving/aspired-model.ts";
import type { DescribedModel } from "../serving/inference-service.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";
import { aspireModel } from "../serving/repository/scan-model.ts";
import type { ModelSource } from "./model-source.ts";
import { type GivenModel, type NamedModelOptions, ofClient, toModelConfig } from "./named-model.ts";

/**
 * Models that the program which embeds the server describes. Their folders are scanned only when they are to be loaded.
 */
export class NamedModels implements ModelSource {
  readonly #options: Map<string, GivenModel>;
  readonly #aspired = new Map<string, AspiredModel>();
  #load: LoadOptions | undefined;
  #aspire: (models: readonly AspiredModel[]) => void = () => {};
  #last: Promise<void> = Promise.resolve();

  constructor(models: Readonly<Record<string, NamedModelOptions>>) {
    this.#options = new Map(Object.entries(models));
  }

  has(name: string): boolean {
    return this.#options.has(name);
  }

  async start(load: LoadOptions, aspire: (models: readonly AspiredModel[]) => void): Promise<void> {
    this.#load = load;
    const names = [...this.#options.keys()];
    await Promise.all(names.map((name) => this.#scan(name)));
    this.#aspire = aspire;
    if (names.length > 0) this.#update();
  }

  /** Adds a model, or changes one, which counts from the next {@link refresh} on. */
  set(name: string, options: NamedModelOptions): void {
    this.#options.set(name, options);
  }

  /** Takes a model out. */
  delete(name: string): void {
    this.#options.delete(name);
    this.#aspired.delete(name);
    this.#update();
  }

  /** Describes these models in place of all others. */
  replace(models: readonly DescribedModel[]): Promise<void> {
    this.#last = this.#last.then(async () => {
      const given = models.map((model) => [model.name, ofClient(model, this.describe(model.name))] as const);
      this.#options.clear();
      for (const [name, options] of given) this.#options.set(name, options);
      await Promise.all(models.map(({ name }) => this.#scan(name)));
      this.#update();
    });
    return this.#last;
  }

  /** One after the other, so that what was seen last counts. */
  refresh(name: string): Promise<void> {
    if (!this.has(name)) return Promise.resolve();
    this.#last = this.#last.then(() => this.#scan(name)).then(() => this.#update());
    return this.#last;
  }

  async rescan(): Promise<void> {
    for (const name of this.#options.keys()) await this.refresh(name);
  }

  describe(name: string): ModelConfig | undefined {
    const options = this.#options.get(name);
    return options && toModelConfig(name, options);
  }

  loadable(): readonly [] {
    return [];
  }

  stop(): void {
    this.#aspire = () => {};
  }

  async #scan(name: string): Promise<void> {
    const options = this.#options.get(name);
    // Taken out since this was asked for.
    if (options === undefined) return;
    const model = await aspireModel(toModelConfig(name, options), this.#load as LoadOptions);
    const { maxQueue, maxQueueBytes, idleUnloadMs } = options;
    this.#aspired.set(name, { ...model, maxQueue, maxQueueBytes, idleUnloadMs });
  }

  #update(): void {
    this.#aspire([...this.#options.keys()].flatMap((name) => this.#aspired.get(name) ?? []));
  }
}
