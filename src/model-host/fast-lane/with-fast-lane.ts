import { sumStatistics } from "../queue/run-statistics.ts";
import type { ModelClient } from "../threads/model-client.ts";
import type { FastLane } from "./fast-lane.ts";

/** A model in another thread, whose short runs are made in this one. */
export function withFastLane(client: ModelClient, lane: FastLane): ModelClient {
  return {
    ...client,
    predict: async (inputs, call) => {
      const outputs = lane.run(inputs, call);
      if (outputs !== undefined) return outputs;
      const trial = lane.observe(inputs, call);
      if (trial === undefined) return client.predict(inputs, call);
      const observed = await client.predict(inputs, { ...call, timeline: trial.timeline });
      trial.end();
      return observed;
    },
    statistics: async () => sumStatistics([await client.statistics(), lane.statistics()]),
    close: async () => {
      await lane.close();
      await client.close();
    },
  };
}
