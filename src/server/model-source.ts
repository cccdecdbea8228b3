import type { AspiredModel } from "../serving/aspired-model.ts";
import type { DescribedModel } from "../serving/described-model.ts";
import type { ModelConfig } from "../serving/repository/config/model-config.ts";
import type { LoadOptions } from "../serving/repository/load-servable.ts";

/** Source of the models that should be served. */
export interface ModelSource {
  /**
   * Calls `aspire` with all its models before it resolves, and with each change; rejects where it cannot know them.
   * `isUnloaded` says if a client has unloaded a model.
   */
  start(
    load: LoadOptions,
    aspire: (models: readonly AspiredModel[]) => void,
    isUnloaded: (name: string) => boolean,
  ): Promise<void>;
  /** Scans one model, which a client wants to be loaded as it is now; does nothing for an unknown one. */
  refresh(name: string): Promise<void>;
  /** Scans all its models; does nothing where they cannot change. */
  rescan(): Promise<void>;
  /** True where it looks for versions that are added; default false. */
  readonly findsVersions?: boolean;
  /** The reason why descriptions were not read by the last scan, and stay as they were; undefined = all were read. */
  readonly failure?: unknown;
  /** Serves these models in place of all that it describes; absent where it cannot. */
  replace?(models: readonly DescribedModel[]): Promise<void>;
  /** The description of a model; undefined for one that it does not know, or describes in another way. */
  describe(name: string): ModelConfig | undefined;
  /** The models that a client may have loaded, in addition to those that it says should be served. */
  loadable(): readonly AspiredModel[];
  /** Calls `aspire` no more. */
  stop(): void;
}
