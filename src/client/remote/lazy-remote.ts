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
    return (await this.#open()).predict(address, call);
  }

  async *stream(address: string, call: RemoteCall): AsyncGenerator<Tensors, void, undefined> {
    yield* (await this.#open()).stream(address, call);
  }

  #open(): Promise<RemotePool> {
    this.#pool ??= import("./remote-pool.ts").then(({ RemotePool }) => new RemotePool(this.#rules));
    return this.#pool;
  }

  async close(): Promise<void> {
    await (await this.#pool)?.close();
  }
}
