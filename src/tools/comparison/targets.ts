import { parseModelAddress } from "../../client/model-address.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import type { Server } from "../../server/server.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type ExampleInput, guessExamples } from "../../tensor/signature/example-inputs.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/** Something that answers the inputs of a comparison. */
export interface Target {
  /** For people: a driver, a path, an address. */
  readonly name: string;
  /** The runtime with its version; absent if it is not known. */
  readonly runtime?: string;
  readonly signature: Signature;
  /** Inputs that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values): Promise<Tensors>;
  close(): Promise<void>;
}

/** A model of a server in this process; `name` is for people. */
export async function openModelTarget(server: Server, model: string, name: string): Promise<Target> {
  const lease = await server.service.acquire({ model });
  lease.release();
  const [stage] = server.stages;
  return {
    name,
    ...(stage?.runtime !== undefined && { runtime: stage.runtime }),
    signature: chooseSignature("", lease.description.signatures)?.spec ?? {},
    examples: async () => (await server.exampleInputs())?.inputs ?? [],
    predict: (inputs) => server.predict(model, inputs),
    close: () => server.close(),
  };
}

/**
 * A model of a server that answers KServe V2, as this one and Triton do, with an `Authorization` if
 * it asks for one; throws for another form of address, and for a model that is not there.
 */
export async function openRemoteTarget(text: string, authorization?: string): Promise<Target> {
  const { inputs, predict, close } = await openRemoteModel(parseModelAddress(text), authorization);
  return {
    name: text,
    signature: { inputs },
    examples: async () => guessExamples(inputs),
    predict,
    close: async () => close(),
  };
}
