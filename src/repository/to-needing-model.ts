import type { NeedingModel } from "../serving/check-needs.ts";
import { modelsOfTraffic } from "../serving/traffic.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { neededModels } from "./stage.ts";

/** The other models that a model's description names. */
export function toNeedingModel({
  name,
  stages = [],
  traffic,
}: Pick<ModelConfig, "name" | "stages" | "traffic">): NeedingModel {
  return { name, needs: neededModels({ stages }), traffic: modelsOfTraffic(traffic) };
}
