import { randomUUID } from "node:crypto";
import { ServingError } from "../errors.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
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
  readonly #tls: RemoteTlsPaths | undefined;

  constructor(tls?: RemoteTlsPaths) {
    this.#tls = tls;
  }

  /** Runs one predict on the server at `address` (host:port, or grpcs://host:port). */
  async predict(address: string, { inputs, ...call }: PoolCall): Promise<Tensors> {
    const service = this.#services.get(address) ?? this.#open(address);
    this.#services.set(address, service);
    const payload = { kind: "tensors", tensors: inputs } as const;
    const { outputs } = await service.infer({ ...call, id: randomUUID(), inputs: payload });
    if (outputs.kind === "tensors") return outputs.tensors;
    throw new ServingError("internal", `${address} answered JSON to a tensor request.`);
  }

  /** The files were checked at the start, and their paths are no client's business. */
  #open(address: string): RemoteService {
    try {
      return createRemoteService(address, { tls: this.#tls });
    } catch (cause) {
      const message = `The files for encrypted connections to ${address} cannot be used any more; the log says why.`;
      throw new ServingError("internal", message, { cause });
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all([...this.#services.values()].map((service) => service.close()));
    this.#services.clear();
  }
}
