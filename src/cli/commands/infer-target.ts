import { isModelAddress, parseModelAddress } from "../../client/model-address.ts";
import type { PredictOptions } from "../../client/model-client.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import { invalidArgument } from "../../errors.ts";
import { chooseSignature } from "../../signature/choose-signature.ts";
import { type ExampleInput, guessExamples } from "../../signature/example-inputs.ts";
import type { Signature } from "../../signature/signature.ts";
import type { Values } from "../../tensor/plain-value.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { authorizationAt } from "./authorization-at.ts";
import type { ModelFlags } from "./model-flags.ts";
import { openModel } from "./open-model.ts";
import { refuseBareAddress } from "./refuse-bare-address.ts";

/** A model to run: one that is loaded here, or one of a server. */
export interface InferTarget {
  /** Undefined where it is not known. */
  readonly signature: Signature | undefined;
  /** Inputs on which the model runs, or that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values, choices: Pick<PredictOptions, "signature" | "outputs">): Promise<Tensors>;
  close(): Promise<void>;
}

/** Flags that choose the model. */
export interface TargetFlags extends ModelFlags {
  readonly signature?: string;
  readonly remoteAuthFile?: string;
}

/**
 * Loads the model at a path, or at the address of its file; or connects to the one of a server, by
 * `http://HOST:PORT/v2/models/NAME` or `grpc://HOST:PORT/NAME`. Throws `invalid_argument` for an address that is not
 * complete.
 */
export async function openInferTarget(place: string, flags: TargetFlags): Promise<InferTarget> {
  refuseBareAddress(place, "model");
  return isModelAddress(place) ? openServed(place, flags) : openLocal(place, flags);
}

async function openLocal(path: string, flags: TargetFlags): Promise<InferTarget> {
  const { server, name } = await openModel(path, flags);
  const lease = await server.service.acquire({ model: name });
  lease.release();
  return {
    signature: chooseSignature(flags.signature ?? "", lease.description.signatures)?.spec,
    examples: async () => (await server.exampleInputs())?.inputs ?? [],
    predict: (inputs, choices) => server.predict(name, inputs, choices),
    close: () => server.close(),
  };
}

async function openServed(place: string, { driver, hooks, option, remoteAuthFile }: TargetFlags): Promise<InferTarget> {
  if (driver !== undefined || hooks !== undefined || option.length > 0)
    throw invalidArgument(`--driver, --hooks and -o are for a model that is loaded here; "${place}" is a server's.`);
  const { inputs, outputs, predict, close } = await openRemoteModel(
    parseModelAddress(place),
    await authorizationAt(place, remoteAuthFile),
  );
  return {
    signature: { inputs, outputs },
    examples: async () => guessExamples(inputs),
    predict,
    close: async () => close(),
  };
}
