import type { Server } from "../server/server.ts";
import { chooseSignature } from "../signature/choose-signature.ts";
import type { Target } from "./target.ts";

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
