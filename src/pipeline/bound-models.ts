import { invalidArgument } from "../errors.ts";
import type { OtherModel, OtherModels } from "../hooks/hooks.ts";
import { kindOf } from "../hooks/kind-of.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import { BoundStage, type CallScope } from "./bound-stage.ts";

/** The other models of this server as seen by hooks, bound to one request: their calls end with the request. */
export class BoundModels implements OtherModels {
  readonly #find: (name: string) => Promise<ModelHandle>;
  readonly #scope: CallScope;

  constructor(find: (name: string) => Promise<ModelHandle>, scope: CallScope) {
    this.#find = find;
    this.#scope = scope;
  }

  get(name: string): OtherModel {
    if (typeof name !== "string" || name === "") {
      throw invalidArgument(`models.get got ${kindOf(name)}; expected the name of a model of this server.`);
    }
    return {
      predict: async (inputs, options) => {
        const model = await this.#find(name);
        return new BoundStage(model, this.#scope, `the model ${name}`).predict(inputs, options);
      },
    };
  }
}
