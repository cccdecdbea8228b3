import { openKserveClient } from "../remote/kserve/kserve-client.ts";
import { parseModelAddress } from "../remote/kserve/model-address.ts";
import { guessExamples } from "../signature/guess-examples.ts";
import { toTensors } from "../tensor/plain-value.ts";
import type { Target } from "./target.ts";

/** A model of a server that answers KServe V2, as this one and Triton do; throws where the address or the model is none. */
export async function openRemoteTarget(text: string): Promise<Target> {
  const { inputs: specs, predict, close } = await openKserveClient(parseModelAddress(text));
  return {
    name: text,
    signature: { inputs: specs },
    examples: async () => guessExamples(specs),
    predict: (values) => predict(toTensors(values, (name) => specs.find((spec) => spec.name === name)?.dtype)),
    close: async () => close(),
  };
}
