import { randomUUID } from "node:crypto";
import { ServingError } from "../errors.ts";
import type { SingleRequest } from "../serving/infer-once.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { createRemoteService, type RemoteService } from "./remote-service.ts";

/** One predict on another server. */
type PoolCall = Pick<SingleRequest, "model" | "signature" | "signal" | "outputs" | "deadline" | "metadata"> & {
  readonly inputs: Tensors;
};

/** Connections to other servers by address, opened on first use and kept. */
export class RemotePool {
  readonly #services = new Map<string, RemoteService>();

  /** Runs one predict on the server at `address` (host:port). */
  async predict(address: string, { inputs, ...call }: PoolCall): Promise<Tensors> {
    const service = this.#services.get(address) ?? createRemoteService(address, {});
    this.#services.set(address, service);
    const payload = { kind: "tensors", tensors: inputs } as const;
    const { outputs } = await service.infer({ ...call, id: randomUUID(), inputs: payload });
    if (outputs.kind === "tensors") return outputs.tensors;
    throw new ServingError("internal", `${address} answered JSON to a tensor request.`);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all([...this.#services.values()].map((service) => service.close()));
    this.#services.clear();
  }
}
