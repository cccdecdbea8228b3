import type { AspiredModel } from "../serving/aspired-model.ts";
import type { DescribedModel } from "../serving/inference-service.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import { prefetch } from "../serving/repository/fetch-source.ts";
import { type LoadOptions, loadServable } from "../serving/repository/load-servable.ts";
import { toWarmUp } from "./named-model.ts";
import type { ServerChoices } from "./server-options.ts";

/** Source of the models that should be served. */
export interface ModelSource {
  /**
   * Calls `aspire` with all its models before it resolves, and with each change; rejects if it cannot know them.
   * `isUnloaded` says if a client has unloaded a model.
   */
  start(
    load: LoadOptions,
    aspire: (models: readonly AspiredModel[]) => void,
    isUnloaded: (name: string) => boolean,
  ): Promise<void>;
  /** Scans one model, which a client wants to be loaded as it is now; does nothing for an unknown one. */
  refresh(name: string): Promise<void>;
  /** Scans all its models; does nothing if they cannot change. */
  rescan(): Promise<void>;
  /** True if it looks for versions that are added; default false. */
  readonly findsVersions?: boolean;
  /** The reason why descriptions were not read by the last scan, and stay as they were; undefined = all were read. */
  readonly failure?: unknown;
  /** Serves these models in place of all that it describes; absent if it cannot. */
  replace?(models: readonly DescribedModel[]): Promise<void>;
  /** The description of a model; undefined for one that it does not know, or describes in another way. */
  describe(name: string): ModelConfig | undefined;
  /** The models that a client may have loaded, in addition to those that it says should be served. */
  loadable(): readonly AspiredModel[];
  /** Calls `aspire` no more. */
  stop(): void;
}

/** The one pipeline that a server is given as stages: version 1, whose files are read again by each load. */
export class PipelineSource implements ModelSource {
  readonly #choices: ServerChoices;

  constructor(choices: ServerChoices) {
    this.#choices = choices;
  }

  async start(load: LoadOptions, aspire: (models: readonly AspiredModel[]) => void): Promise<void> {
    const { name, stages = [], hooks, options, warmup } = this.#choices;
    const source = {
      name,
      version: 1n,
      stages,
      options,
      ...(hooks !== undefined && { hooks }),
      ...(warmup !== undefined && { warmUp: toWarmUp(warmup) }),
    };
    const version = {
      version: source.version,
      fingerprint: "",
      prepare: prefetch([...stages.map(({ path }) => path), hooks], load.storage),
      load: async (signal: AbortSignal) => (await loadServable(source, { ...load, signal })).servable,
    };
    aspire([{ name, versions: [version] }]);
  }

  async refresh(): Promise<void> {}

  async rescan(): Promise<void> {}

  describe(): undefined {}

  loadable(): readonly [] {
    return [];
  }

  stop(): void {}
}
