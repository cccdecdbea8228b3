import type { CompiledNetwork, InferRequest, Port } from "../engine.ts";
import type { AddonCompiledModel } from "./addon-api.ts";
import { attempt } from "./attempt.ts";
import type { NodeContext } from "./node-context.ts";
import { NodeRequest } from "./node-request.ts";
import { toText } from "./property-text.ts";

/** ov::CompiledModel in openvino-node. */
export class NodeCompiled implements CompiledNetwork {
  readonly #context: NodeContext;
  readonly #compiled: AddonCompiledModel;
  readonly #outputs: readonly Port[];

  /** The outputs are those of its network. */
  constructor(context: NodeContext, compiled: AddonCompiledModel, outputs: readonly Port[]) {
    this.#context = context;
    this.#compiled = compiled;
    this.#outputs = outputs;
  }

  property(key: string): string {
    return attempt(() => toText(this.#compiled.getProperty(key)));
  }

  createRequest(): InferRequest {
    return attempt(() => new NodeRequest(this.#context, this.#compiled.createInferRequest(), this.#outputs));
  }

  release(): void {}
}
