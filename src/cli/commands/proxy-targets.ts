import { ServingError } from "../../errors.ts";
import { toAuthority } from "../../net/authority.ts";
import { createRemoteService, type RemoteService, type RemoteServiceOptions } from "../../remote/remote-service.ts";
import { Admission, type InFlight } from "../../serving/admission.ts";
import type { InferenceService, InferRequest, InferResponse } from "../../serving/inference-service.ts";
import { parseHost } from "../addresses/parse-host.ts";
import { isPortNumber } from "../addresses/port-number.ts";

/** Where a proxy sends requests. */
export interface ProxyTargetsOptions extends RemoteServiceOptions {
  /** `host:port` of the server that gets them. */
  readonly grpcAddress: string;
  /** Whether `Proxy-Addr` and `Proxy-Port` of a request choose another one. */
  readonly allowProxyHeaders: boolean;
}

/** Enough for every serving of a workspace; each costs a connection. */
const MAX_CHOSEN_TARGETS = 64;
/** Where servers of the original tool listen. */
const DEFAULT_GRPC_PORT = 9000;

/** The service behind `kserving proxy`: one fixed server, or the one that a request names where that is allowed. */
export class ProxyTargets {
  readonly #options: ProxyTargetsOptions;
  readonly #fixed: RemoteService;
  /** By address, least recently used first. */
  readonly #chosen = new Map<string, Target>();
  readonly #admission = new Admission();

  constructor(options: ProxyTargetsOptions) {
    this.#options = options;
    this.#fixed = createRemoteService(options.grpcAddress, options);
  }

  /** For the HTTP server. Clients that name their target need no fixed one, so it is then not waited for. */
  toService(): InferenceService {
    const { allowProxyHeaders } = this.#options;
    return {
      describe: (ref) => this.#fixed.describe(ref),
      index: () => this.#fixed.index(),
      statistics: () => this.#fixed.statistics(),
      load: (model) => this.#fixed.load(model),
      unload: (model) => this.#fixed.unload(model),
      infer: (request) => this.#infer(request),
      isReady: () => allowProxyHeaders || this.#fixed.isReady(),
      onReadiness: (listener) => this.#fixed.onReadiness((ready) => listener(allowProxyHeaders || ready)),
    };
  }

  inFlight(): readonly InFlight[] {
    return this.#admission.list();
  }

  /** Closes all connections; requests under way fail. */
  async close(): Promise<void> {
    await Promise.all([this.#fixed.close(), ...[...this.#chosen.values()].map(({ service }) => service.close())]);
  }

  #infer(request: InferRequest): Promise<InferResponse> {
    const { id, model, version = 0n, signature } = request;
    return this.#admission.admit({ id, model, version, signature }, async () => {
      const { "proxy-addr": host, "proxy-port": port, ...metadata } = request.metadata;
      if (host === undefined || !this.#options.allowProxyHeaders) return this.#fixed.infer({ ...request, metadata });
      return this.#inferAt(toAddress(host, port), { ...request, metadata });
    });
  }

  async #inferAt(address: string, request: InferRequest): Promise<InferResponse> {
    const target = this.#acquire(address);
    try {
      return await target.service.infer(request);
    } finally {
      target.users--;
      if (target.isEvicted && target.users === 0) await target.service.close();
    }
  }

  #acquire(address: string): Target {
    const target = this.#chosen.get(address) ?? {
      service: createRemoteService(address, this.#options),
      users: 0,
      isEvicted: false,
    };
    target.users++;
    this.#chosen.delete(address);
    this.#chosen.set(address, target);
    if (this.#chosen.size > MAX_CHOSEN_TARGETS) this.#evictOldest();
    return target;
  }

  #evictOldest(): void {
    const [oldest] = this.#chosen;
    if (oldest === undefined) return;
    const [address, target] = oldest;
    this.#chosen.delete(address);
    target.isEvicted = true;
    if (target.users === 0) void target.service.close();
  }
}

interface Target {
  readonly service: RemoteService;
  /** Requests under way. */
  users: number;
  /** To be closed after its last request. */
  isEvicted: boolean;
}

/** Names and numbers only: gRPC would take `unix:/path` and other schemes too. */
function toAddress(host: string, port = String(DEFAULT_GRPC_PORT)): string {
  const bare = parseHost(host);
  if (bare === undefined) {
    throw new ServingError(
      "invalid_argument",
      `Header Proxy-Addr is "${host}"; expected a host name or an IP address.`,
    );
  }
  if (!isPortNumber(port)) {
    throw new ServingError("invalid_argument", `Header Proxy-Port is "${port}"; expected a port from 1 to 65535.`);
  }
  return toAuthority(bare, port);
}
