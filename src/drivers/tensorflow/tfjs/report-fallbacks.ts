import type { Logger } from "../../../observability/logger.ts";
import type { Model } from "../../driver.ts";
import { takeNewFallbacks } from "./fallback-kernels.ts";

/** The same model, which says once in the log what of it runs slowly. */
export function reportFallbacks(model: Model, log: Logger): Model {
  return {
    ...model,
    predict: async (inputs, call) => {
      const outputs = await model.predict(inputs, call);
      const kernels = takeNewFallbacks();
      if (kernels.length > 0)
        log.info("kernels that WebAssembly lacks run in JavaScript, which is slower", { kernels });
      return outputs;
    },
  };
}
