import { randomUUID } from "node:crypto";
import { ServingError } from "../errors.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
import type { SingleRequest } from "../serving/infer-once.ts";
import type { Tensors } from "../tensor/tensor.ts";
import { RecentServices } from "./recent-services.ts";
import { RemoteCredentials } from "./remote-credentials.ts";
import { createRemoteService, type RemoteService } from "./remote-service.ts";
import { parseServerAddress } from "./server-address.ts";

/** One predict on another server. */
type PoolCall = Pick<SingleRequest, "model" | "signature" | "signal" | "outputs" | "deadline" | "metadata"> & {
  readonly inputs: Tensors;
};

/** Files by which other servers know this one. */
export interface RemoteFiles {
  readonly remoteTls?: RemoteTlsPaths | undefined;
  /** Credentials by server, as {@link RemoteCredentials} reads them. */
  readonly remoteAuthFile?: string | undefined;
}

/** Servers that stay connected: hooks choose the addresses, of which a cluster has new ones each day. */
const MAX_SERVERS = 256;

/** Connections to other servers by address, opened on first use and kept for the servers that were called last. */
export class RemotePool {
  readonly #services = new RecentServices(MAX_SERVERS, (address) => this.#open(address));
  readonly #files: RemoteFiles;
  #credentials: RemoteCredentials | undefined;

  constructor(files: RemoteFiles = {}) {
    this.#files = files;
  }

  /** Runs one predict on the server at `address` (host:port, or grpcs://host:port). */
  async predict(address: string, { inputs, ...given }: PoolCall): Promise<Tensors> {
    const call = { ...given, metadata: { ...(await this.#authorizationAt(address)), ...given.metadata } };
    const payload = { kind: "tensors", tensors: inputs } as const;
    const request = { ...call, id: randomUUID(), inputs: payload };
    const { outputs } = await this.#services.use(address, (service) => service.infer(request));
    if (outputs.kind === "tensors") return outputs.tensors;
    throw new ServingError("internal", `${address} answered JSON to a tensor request.`);
  }

  /** The files were checked at the start; clients do not get their paths. */
  #open(address: string): RemoteService {
    try {
      return createRemoteService(address, { tls: this.#files.remoteTls });
    } catch (cause) {
      throw unusable("files for encrypted connections", address, cause);
    }
  }

  async #authorizationAt(address: string): Promise<{ readonly authorization?: string }> {
    const { remoteAuthFile } = this.#files;
    if (remoteAuthFile === undefined) return {};
    try {
      this.#credentials ??= await RemoteCredentials.open(remoteAuthFile);
    } catch (cause) {
      throw unusable("file of credentials", address, cause);
    }
    await this.#credentials.freshen();
    const authorization = this.#credentials.headerFor(parseServerAddress(address).authority);
    return authorization === undefined ? {} : { authorization };
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await this.#services.close();
  }
}

function unusable(what: string, address: string, cause: unknown): ServingError {
  return new ServingError("internal", `The ${what} for ${address} cannot be used; the log says why.`, { cause });
}
