import { randomUUID } from "node:crypto";
import { ServingError } from "../../errors.ts";
import type { RemoteCall, RemoteClient, RemoteTlsPaths } from "../../pipeline/remote.ts";
import { toAbortSignal, unlessAborted } from "../../platform/async/cancel-source.ts";
import { handParts } from "../../platform/async/hand-parts.ts";
import type { OverloadRules } from "../../platform/limits/overload-manager.ts";
import { answeredTensors } from "../../protocols/answered-tensors.ts";
import type { SingleRequest } from "../../serving/infer-once.ts";
import type { InferResponse } from "../../serving/inference-service.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { RemoteCredentials } from "./remote-credentials.ts";
import { createRemoteService, type RemoteService } from "./remote-service.ts";
import { parseServerAddress } from "./server-address.ts";

/** Files by which other servers know this one, and rules for their answers. */
export interface RemoteRules {
  readonly remoteTls?: RemoteTlsPaths | undefined;
  /** Credentials by server, as {@link RemoteCredentials} reads them. */
  readonly remoteAuthFile?: string | undefined;
  /** At which rate answers come at least. Default: the server's. */
  readonly overload?: OverloadRules | undefined;
}

/** Servers that stay connected: hooks choose the addresses, of which a cluster has new ones each day. */
const MAX_SERVERS = 256;

/** Connections to other servers by address, opened on first use and kept for the servers that were called last. */
export class RemotePool implements RemoteClient {
  readonly #services = new RecentServices(MAX_SERVERS, (address) => this.#open(address));
  readonly #rules: RemoteRules;
  #credentials: RemoteCredentials | undefined;

  constructor(rules: RemoteRules = {}) {
    this.#rules = rules;
  }

  /** Runs one predict on the server at `address` (host:port, or grpcs://host:port). */
  async predict(address: string, call: RemoteCall): Promise<Tensors> {
    const request = await this.#toRequest(address, call);
    return answeredTensors(await this.#services.use(address, (service) => service.infer(request)));
  }

  /** The same, with the parts of the answer as they come. A reader that stops ends the call. */
  async *stream(address: string, call: RemoteCall): AsyncGenerator<Tensors, void, undefined> {
    const request = await this.#toRequest(address, call);
    yield* handParts<Tensors>(async (write, leaving) => {
      const signal = AbortSignal.any([toAbortSignal(request.call.signal), leaving]);
      // A reader that is not there any more takes no further part.
      const parts = { write: (part: InferResponse) => unlessAborted(write(answeredTensors(part)), signal) };
      const own = { ...request, parts, call: { ...request.call, signal } };
      const answer = await this.#services.use(address, (service) => service.infer(own));
      if (answer.parts === undefined) await parts.write(answer);
    });
  }

  async #toRequest(address: string, { inputs, model, signature, outputs, call }: RemoteCall): Promise<SingleRequest> {
    const metadata = { ...(await this.#authorizationAt(address)), ...call.metadata };
    return {
      ref: { model },
      signature,
      inputs: { kind: "tensors", tensors: inputs },
      outputs,
      call: { ...call, id: randomUUID(), metadata },
    };
  }

  /** The files were checked at the start; clients do not get their paths. */
  #open(address: string): RemoteService {
    const { remoteTls: tls, overload } = this.#rules;
    try {
      return createRemoteService(address, { tls, overload });
    } catch (cause) {
      throw unusable("files for encrypted connections", address, cause);
    }
  }

  async #authorizationAt(address: string): Promise<{ readonly authorization?: string }> {
    const { remoteAuthFile } = this.#rules;
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

/** A server that was called lately. */
interface Target {
  readonly service: RemoteService;
  /** Requests under way. */
  users: number;
  /** To be closed after its last request. */
  isEvicted: boolean;
}

/** Connections to servers that requests choose: the one that was not used for longest gives way. */
export class RecentServices {
  readonly #open: (address: string) => RemoteService;
  readonly #maxCount: number;
  /** By address, least recently used first. */
  readonly #targets = new Map<string, Target>();

  constructor(maxCount: number, open: (address: string) => RemoteService) {
    this.#maxCount = maxCount;
    this.#open = open;
  }

  /** Runs a step on the server at an address, whose connection stays open until the step has settled. */
  async use<Result>(address: string, step: (service: RemoteService) => Promise<Result>): Promise<Result> {
    const target = this.#acquire(address);
    try {
      return await step(target.service);
    } finally {
      target.users--;
      if (target.isEvicted && target.users === 0) await target.service.close();
    }
  }

  /** Closes all connections; requests under way fail. */
  async close(): Promise<void> {
    const services = Array.from(this.#targets.values(), ({ service }) => service);
    this.#targets.clear();
    await Promise.all(services.map((service) => service.close()));
  }

  #acquire(address: string): Target {
    const target = this.#targets.get(address) ?? { service: this.#open(address), users: 0, isEvicted: false };
    target.users++;
    this.#targets.delete(address);
    this.#targets.set(address, target);
    if (this.#targets.size > this.#maxCount) this.#evictOldest();
    return target;
  }

  #evictOldest(): void {
    const [oldest] = this.#targets;
    if (oldest === undefined) return;
    const [address, target] = oldest;
    this.#targets.delete(address);
    target.isEvicted = true;
    if (target.users === 0) void target.service.close();
  }
}
