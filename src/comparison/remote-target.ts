import { parseModelAddress } from "../client/model-address.ts";
import { openRemoteModel } from "../client/open-remote-model.ts";
import { guessExamples } from "../signature/guess-examples.ts";
import type { Target } from "./target.ts";

/**
 * A model of a server that answers KServe V2, as this one and Triton do, with an `Authorization` where
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
