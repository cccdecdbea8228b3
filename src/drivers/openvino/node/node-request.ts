import type { Tensor } from "../../../tensor/tensor.ts";
import type { InferRequest, Port } from "../engine.ts";
import type { AddonInferRequest, AddonTensor } from "./addon-api.ts";
import { createOutput, fromAddonTensor, type GivenTensor, toAddonTensor } from "./addon-tensor.ts";
import { attempt, toFailure } from "./attempt.ts";
import type { NodeContext } from "./node-context.ts";

/** Inputs of running requests: nothing else keeps them from being freed. */
const beingRead = new Set<readonly GivenTensor[]>();

/** ov::InferRequest in openvino-node. */
export class NodeRequest implements InferRequest {
  readonly #context: NodeContext;
  readonly #request: AddonInferRequest;
  readonly #outputs: readonly AddonTensor[];

  constructor(context: NodeContext, request: AddonInferRequest, outputs: readonly Port[]) {
    this.#context = context;
    this.#request = request;
    // After each run the addon copies all outputs, and writes past the copy of one without
    // elements that is in the device's own memory.
    this.#outputs = outputs.map((port) => createOutput(context.addon, port));
    for (const [place, tensor] of this.#outputs.entries()) request.setOutputTensor(place, tensor);
  }

  async infer(inputs: readonly Tensor[], outputs: readonly number[]): Promise<Tensor[]> {
    const given = inputs.map((tensor) => toAddonTensor(this.#context.addon, tensor));
    beingRead.add(given);
    try {
      await this.#request.inferAsync(given.map(({ tensor }) => tensor));
    } catch (reason) {
      throw toFailure(reason);
    } finally {
      beingRead.delete(given);
    }
    return attempt(() => outputs.map((place) => fromAddonTensor(this.#outputs[place]!)));
  }

  /** The addon cannot abort a run: it continues without a caller. */
  cancel(): void {}

  release(): void {}
}
