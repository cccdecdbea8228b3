import type { RemoteCall, RemoteClient } from "../../pipeline/remote.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { RemotePool, RemoteRules } from "./remote-pool.ts";

/** Calls of other servers for hooks; loads the gRPC client on first use, since most pipelines never call one. */
export class LazyRemote implements RemoteClient {
  readonly #rules: RemoteRules;
  #pool: Promise<RemotePool> | undefined;

  constructor(rules: RemoteRules) {
    this.#rules = rules;
  }

  async predict(address: string, call: RemoteCall): Promise<Tensors> {
    this.#pool ??= import("./remote-pool.ts").then(({ RemotePool }) => new RemotePool(this.#rules));
    return (await this.#pool).predict(address, call);
  }

  async close(): Promise<void> {
    await (await this.#pool)?.close();
  }
}
