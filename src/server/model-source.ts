import type { ModelConfig } from "../repository/config/model-config.ts";
import type { LoadOptions } from "../repository/load-servable.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";

/** Says which models should be served, and when that changes. */
export interface ModelSource {
  /** Calls `aspire` with all its models before it resolves, and with each change; rejects where it cannot know them. */
  start(load: LoadOptions, aspire: (models: readonly AspiredModel[]) => void): Promise<void>;
  /** Looks at one model again, since a client wants it loaded as it is now; does nothing for one that it does not know. */
  refresh(name: string): Promise<void>;
  /** Looks at all its models again; does nothing for what cannot change. */
  look(): Promise<void>;
  /** The description of a model; undefined for one that it does not know, or describes in another way. */
  describe(name: string): ModelConfig | undefined;
  /** The models that a client may have loaded, in addition to those that it says should be served. */
  loadable(): readonly AspiredModel[];
  /** Calls back no more. */
  stop(): void;
}
