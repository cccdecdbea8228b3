import type { AspiredModel } from "../serving/aspired-model.ts";
import { prefetch } from "../serving/repository/fetch-source.ts";
import { type LoadOptions, loadServable } from "../serving/repository/load-servable.ts";
import type { ModelSource } from "./model-source.ts";
import { toWarmUp } from "./named-model.ts";
import type { ServerChoices } from "./server-options.ts";

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
