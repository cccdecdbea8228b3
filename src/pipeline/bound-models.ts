import { invalidArgument, ServingError } from "../errors.ts";
import type { OtherModel, OtherModels } from "../hooks/hooks.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import { kindOf } from "../text/kind-of.ts";
import { BoundStage, type CallScope } from "./bound-stage.ts";

/** Finds a model by its name; `refusing` = what was found before, and has refused a hook's values. */
export type FindModel = (name: string, refusing?: ModelHandle) => Promise<ModelHandle>;

/** The other models of this server as seen by hooks, bound to one request: their calls end with the request. */
export class BoundModels implements OtherModels {
  readonly #find: FindModel;
  readonly #scope: CallScope;

  constructor(find: FindModel, scope: CallScope) {
    this.#find = find;
    this.#scope = scope;
  }

  get(name: string): OtherModel {
    if (typeof name !== "string" || name === "") {
      throw invalidArgument(`models.get got ${kindOf(name)}; expected the name of a model of this server.`);
    }
    return {
      predict: async (inputs, options) => {
        const call = (model: ModelHandle) =>
          new BoundStage(model, this.#scope, `the model ${name}`).predict(inputs, options);
        const model = await this.#find(name);
        try {
          return await call(model);
        } catch (reason) {
          const isRefused = reason instanceof ServingError && reason.cause instanceof ServingError;
          const now = isRefused ? await this.#find(name, model).catch(() => model) : model;
          if (now === model) throw reason;
          return call(now);
        }
      },
    };
  }
}
