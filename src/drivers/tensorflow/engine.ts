import type { DriverHost, Model } from "../driver.ts";
import type { EngineName } from "./engine-name.ts";
import type { ModelSource } from "./model-source.ts";
import type { TensorflowOptions } from "./tensorflow-options.ts";

/** One way to run a TensorFlow model. */
export interface TensorflowEngine {
  readonly name: EngineName;
  /**
   * Loads a model of a format that {@link chooseEngine} gives this engine; throws
   * `failed_precondition` for one that it cannot serve.
   */
  load(source: ModelSource, options: TensorflowOptions, host: DriverHost): Promise<Model>;
}
