import type { RemoteCredentials } from "../../client/remote/remote-credentials.ts";
import { listRemoteModels } from "../../client/remote/remote-functions.ts";
import { RecentServices } from "../../client/remote/remote-pool.ts";
import {
  createRemoteService,
  type RemoteService,
  type RemoteServiceOptions,
} from "../../client/remote/remote-service.ts";
import { parseServerAddress } from "../../client/remote/server-address.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { toAuthority } from "../../platform/net/listen.ts";
import { ToldService } from "../../protocols/functions/told-models.ts";
import { Admission, type InFlight } from "../../serving/admission.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  Lease,
  ModelRef,
  ModelsCall,
} from "../../serving/inference-service.ts";
import { isPortNumber, parseHost } from "../addresses/address-text.ts";

/** The server that a proxy sends requests to, and how requests may choose another. */
export interface ProxyTargetsOptions extends RemoteServiceOptions {
  /** `host:port` of the server that gets them. */
  readonly grpcAddress: string;
  /** Lets `Proxy-Addr` and `Proxy-Port` of a request choose another server. */
  readonly allowProxyHeaders: boolean;
  /** Sends on the client's own `Authorization`. */
  readonly forwardAuthorization: boolean;
  /** Requests under way at most, to all servers together. Default: any number. */
  readonly maxQueue?: number;
  /** This proxy's own credentials at the servers; default: it has none. */
  readonly credentials?: Pick<RemoteCredentials, "headerFor"> | undefined;
}

/** Enough for every serving of a workspace; each costs a connection. */
const MAX_CHOSEN_TARGETS = 64;
/** Time for the first connection, in milliseconds. */
const CONNECT_MS = 1000;
/** Port of the original tool's servers. */
const DEFAULT_GRPC_PORT = 9000;

/** The service behind `kserving proxy`: one fixed server, or the one that a request names if that is allowed. */
export class ProxyTargets {
  readonly #options: ProxyTargetsOptions;
  readonly #fixed: RemoteService;
  readonly #chosen: RecentServices;
  readonly #admission: Admission;
  #isRetired = false;

  constructor(options: ProxyTargetsOptions) {
    this.#options = options;
    this.#admission = new Admission(options.maxQueue);
    this.#fixed = createRemoteService(options.grpcAddress, options);
    this.#chosen = new RecentServices(MAX_CHOSEN_TARGETS, (address) => createRemoteService(address, options));
  }

  /** For the HTTP server. Clients that name their target need no fixed one, so it is then not waited for. */
  toService(): InferenceService {
    const { allowProxyHeaders } = this.#options;
    return {
      acquire: (ref) => this.#lease(ref),
      index: (scope) => this.#fixed.index(scope),
      statistics: () => this.#fixed.statistics(),
      load: (model, overrides) => this.#fixed.load(model, overrides),
      unload: (model, options) => this.#fixed.unload(model, options),
      reconfigure: (models) => this.#fixed.reconfigure(models),
      rescan: () => this.#fixed.rescan(),
      isReady: () => !this.#isRetired && (allowProxyHeaders || this.#fixed.isReady()),
      onReadiness: (listener) => this.#fixed.onReadiness((ready) => listener(allowProxyHeaders || ready)),
      withModels: (call, model) => this.#withModels(call, model),
    };
  }

  /** The models are those of the server that gets the request. */
  async #withModels(call: ModelsCall, model: string | undefined): Promise<InferenceService> {
    const told = await this.#admitted({ id: call.id, model: model ?? "" }, call, () =>
      this.#at(call, (service, sent) =>
        service.during(sent.signal, (client, signal) => listRemoteModels(client, { ...sent, signal }, model)),
      ),
    );
    // Lists are empty then, as if the server had no models.
    if (told === undefined && model !== undefined) throw new ServingError("not_found", UNTOLD);
    // Without a name all are told, of which the caller may know some alone.
    const isOne = model !== undefined && model !== "";
    const { index, acquire } = new ToldService(told ?? [], isOne, (ref) => this.#lease(ref));
    const { withModels: _, ...service } = this.toService();
    return { ...service, index, acquire };
  }

  /** The reason for which the fixed server cannot be reached; undefined if it can be, or none is known. */
  whyUnreachable(): Promise<string | undefined> {
    return this.#fixed.whyUnreachable();
  }

  /** Is not ready any more. */
  retire(): void {
    this.#isRetired = true;
  }

  inFlight(): readonly InFlight[] {
    return this.#admission.list();
  }

  /** Closes all connections; requests under way fail. */
  async close(): Promise<void> {
    await Promise.all([this.#fixed.close(), this.#chosen.close()]);
  }

  /** A lease of the server that gets the request, which is known once it is sent: its headers name it. */
  #lease(ref: ModelRef): Lease {
    return { ...this.#fixed.acquire(ref), infer: (request) => this.#infer(ref, request) };
  }

  async #infer(ref: ModelRef, request: InferRequest): Promise<InferResponse> {
    const { call } = request;
    return this.#admitted({ id: call.id, model: ref.model }, call, () =>
      this.#at(call, (service, sent) => service.acquire(ref).infer({ ...request, call: sent })),
    );
  }

  /** Asks a server, unless too many requests are under way. */
  async #admitted<Answer>(
    asked: Pick<InFlight, "id" | "model">,
    { memory }: Pick<ModelsCall, "memory">,
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const admitted = this.#admission.enter(asked, memory && { client: memory.client });
    try {
      return await ask();
    } finally {
      this.#admission.leave(admitted);
    }
  }

  /** Runs a step on the server that a call is for, with the headers that it gets. */
  #at<Call extends Pick<ModelsCall, "metadata">, Result>(
    call: Call,
    step: (service: RemoteService, call: Call) => Promise<Result>,
  ): Promise<Result> {
    const { "proxy-addr": host, "proxy-port": port, authorization, ...metadata } = call.metadata;
    const isChosen = host !== undefined && this.#options.allowProxyHeaders;
    const address = isChosen ? this.#toAddress(host, port) : this.#options.grpcAddress;
    const sent = { ...call, metadata: { ...metadata, ...this.#authorizationAt(address, authorization) } };
    const ask = (service: RemoteService) => step(service, sent);
    return isChosen ? this.#chosen.use(address, ask) : ask(this.#fixed);
  }

  /** A client's password is for this proxy, unless it is asked to send it on. */
  #authorizationAt(address: string, given: string | undefined): { readonly authorization?: string } {
    const { credentials, forwardAuthorization } = this.#options;
    const authorization =
      credentials?.headerFor(parseServerAddress(address).authority) ?? (forwardAuthorization ? given : undefined);
    return authorization === undefined ? {} : { authorization };
  }

  /** Encrypted if the fixed server is. */
  #toAddress(host: string, port: string | undefined): string {
    const { isEncrypted } = parseServerAddress(this.#options.grpcAddress);
    return isEncrypted ? `grpcs://${toAddress(host, port)}` : toAddress(host, port);
  }
}

const UNTOLD =
  "The server behind this one does not tell which functions for texts its models have; expected a kserving of this version, or a newer one, whose --protocols leaves out no functions.";

/** Logs that the server behind a proxy cannot be reached, and that it can be again; returns a function that ends it. */
export function watchTarget(
  target: Pick<ProxyTargets, "toService" | "whyUnreachable">,
  grpcAddress: string,
  log: Logger,
): () => void {
  let known: boolean | undefined;
  let current = false;
  const warn = async () => {
    const reason = await target.whyUnreachable().catch(() => undefined);
    if (known) return;
    const about = { grpcAddress, ...(reason !== undefined && { reason }) };
    log.warn("the server behind this proxy cannot be reached: requests fail", about);
  };
  const tell = () => {
    if (known === current) return;
    if (!current) void warn();
    else if (known === false) log.info("the server behind this proxy can be reached", { grpcAddress });
    known = current;
  };
  const stop = target.toService().onReadiness((isReady) => {
    current = isReady;
    if (isReady || known !== undefined) tell();
  });
  const first = setTimeout(tell, CONNECT_MS).unref();
  return () => {
    clearTimeout(first);
    stop();
  };
}

/** Names and numbers only: gRPC would take `unix:/path` and other schemes too. */
function toAddress(host: string, port = String(DEFAULT_GRPC_PORT)): string {
  const bare = parseHost(host);
  if (bare === undefined) {
    throw invalidArgument(`Header Proxy-Addr is "${host}"; expected a host name or an IP address.`);
  }
  if (!isPortNumber(port)) {
    throw invalidArgument(`Header Proxy-Port is "${port}"; expected a port from 1 to 65535.`);
  }
  return toAuthority(bare, port);
}
