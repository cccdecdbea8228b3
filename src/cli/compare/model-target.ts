import { chooseSignature } from "../../signature/choose-signature.ts";
import { openModel } from "../commands/open-model.ts";
import { randomInputs } from "../commands/random-inputs.ts";
import type { Target } from "./target.ts";

/** A model in this process; rejects with the reason for which it cannot be loaded. */
export async function openModelTarget(
  path: string,
  { driver, option, name }: { readonly driver?: string; readonly option: readonly string[]; readonly name: string },
): Promise<Target> {
  const { server, name: model } = await openModel(path, { option, ...(driver !== undefined && { driver }) });
  const lease = await server.service.acquire({ model });
  lease.release();
  const [stage] = server.stages;
  return {
    name,
    ...(stage?.runtime !== undefined && { runtime: stage.runtime }),
    signature: chooseSignature("", lease.description.signatures)?.spec ?? {},
    examples: (seed) => randomInputs(server, seed),
    predict: (inputs) => server.predict(model, inputs),
    close: () => server.close(),
  };
}
