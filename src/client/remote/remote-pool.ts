import { randomUUID } from "node:crypto";
import { ServingError } from "../../errors.ts";
import type { RemoteCall, RemoteClient, RemoteTlsPaths } from "../../pipeline/remote.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { RecentServices } from "./recent-services.ts";
import { RemoteCredentials } from "./remote-credentials.ts";
import { createRemoteService, type RemoteService } from "./remote-service.ts";
import { parseServerAddress } from "./server-address.ts";

/** Files by which other servers know this one. */
export interface RemoteFiles {
  readonly remoteTls?: RemoteTlsPaths | undefined;
  /** Credentials by server, as {@link RemoteCredentials} reads them. */
  readonly remoteAuthFile?: string | undefined;
}

/** Servers that stay connected: hooks choose the addresses, of which a cluster has new ones each day. */
const MAX_SERVERS = 256;

/** Connections to other servers by address, opened on first use and kept for the servers that were called last. */
export class RemotePool implements RemoteClient {
  readonly #services = new RecentServices(MAX_SERVERS, (address) => this.#open(address));
  readonly #files: RemoteFiles;
  #credentials: RemoteCredentials | undefined;

  constructor(files: RemoteFiles = {}) {
    this.#files = files;
  }

  /** Runs one predict on the server at `address` (host:port, or grpcs://host:port). */
  async predict(address: string, { inputs, model, signature, outputs: wanted, call }: RemoteCall): Promise<Tensors> {
    const metadata = { ...(await this.#authorizationAt(address)), ...call.metadata };
    const request = {
      ref: { model },
      signature,
      inputs: { kind: "tensors", tensors: inputs } as const,
      outputs: wanted,
      call: { ...call, id: randomUUID(), metadata },
    };
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
