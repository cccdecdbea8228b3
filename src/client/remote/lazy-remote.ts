import type { RemoteCall, RemoteClient } from "../../pipeline/remote.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { RemoteFiles, RemotePool } from "./remote-pool.ts";

/** Calls of other servers for hooks; loads the gRPC client on first use, since most pipelines never call one. */
export class LazyRemote implements RemoteClient {
  readonly #files: RemoteFiles;
  #pool: Promise<RemotePool> | undefined;

  constructor(files: RemoteFiles) {
    this.#files = files;
  }

  async predict(address: string, call: RemoteCall): Promise<Tensors> {
    this.#pool ??= import("./remote-pool.ts").then(({ RemotePool }) => new RemotePool(this.#files));
    return (await this.#pool).predict(address, call);
  }

  async close(): Promise<void> {
    await (await this.#pool)?.close();
  }
}
