import type { Socket } from "node:net";
import type { AccessPolicy } from "../access/access-policy.ts";
import type { ClientGate } from "../access/client-gate.ts";
import type { ClientKey } from "../access/client-key.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import type { AccessLogOptions } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import type { ConnectionLimit } from "../platform/limits/connection-limit.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { ServerSettings } from "../platform/limits/settings/server-settings.ts";
import { LAST_CALL_MS } from "../platform/limits/transport-limits.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { PageSources } from "../proxy/page-sources.ts";
import type { LocalService } from "../serving/local-service.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import type { ServerChoices } from "./server-options.ts";

/** A separate address, with its own files for encryption. */
export interface SideAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
}

/** Address to listen on, and the settings that both transports share. */
export interface TransportOptions {
  readonly settings: ServerSettings;
  /** Models that a platform loads by their folders; absent = no platform does. */
  readonly platform?: PlatformModels | undefined;
  /** True if another thread knows these models. */
  readonly hasPlatformElsewhere?: boolean | undefined;
  readonly host: string;
  /** gRPC port; 0 picks a free one. */
  readonly port: number;
  /** Absent = HTTP is not served. The gRPC port's number (but 0) = both share it. */
  readonly httpPort?: number;
  /** Listening sockets with which the program was started. */
  readonly sockets?: InheritedSockets;
  /** A separate address for administration; absent = the other ports answer such calls. */
  readonly admin?: SideAddress;
  /** A separate address for metrics. */
  readonly metricsAddress?: SideAddress;
  /** Files for encrypted connections; absent = they are not encrypted. */
  readonly tls?: TlsFiles | undefined;
  /** Bytes that the requests of both transports hold together. Default: each limits its own. */
  readonly memory?: MemoryBudget;
  /** Regions that clients of KServe V2 register; absent = they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
  /** Sources of the server's own page; absent = there is no page. */
  readonly page?: PageSources | undefined;
  /** Permissions of clients. */
  readonly policy: AccessPolicy;
  /** Limit of the connections of all ports. */
  readonly connections?: ConnectionLimit | undefined;
  /** Limits of each client. */
  readonly clients?: ClientGate | undefined;
  /** Gives the key of a client's account. Default: that of its address. */
  readonly accountKey?: ClientKey | undefined;
  /** Gives the address of a request's client behind trusted proxies. */
  readonly addressOf?: AccessLogOptions["addressOf"];
  /** Counts the requests; absent if no client can read the counts. */
  readonly metrics?: RequestMetrics | undefined;
  /** Opens the threads that listen in place of this one; absent = it listens itself. */
  readonly listeners?: ListenerParts | undefined;
  /** Opens a connection to the thread that answers everything but single requests to models; absent = this one does. */
  readonly passOn?: ((client: Socket, isHttp2: boolean) => Socket) | undefined;
  /** Records traces; absent = no traces are recorded. */
  readonly tracer?: RequestTracer | undefined;
  readonly log: Logger;
}

/** No ports, for a server that only its own program asks. */
export const NO_TRANSPORTS: Transports = {
  grpcAddress: "",
  httpUrl: undefined,
  isEncrypted: false,
  retire: () => {},
  close: async () => {},
};

/** The open ports of both transports. */
export interface Transports {
  /** `host:port`, or `unix:PATH` if gRPC has no port. */
  readonly grpcAddress: string;
  /** `http://host:port`, or `https://…`, if HTTP is served. */
  readonly httpUrl: string | undefined;
  /** The URL of the address for administration, if there is one. */
  readonly adminUrl?: string | undefined;
  /** The URL of the address for metrics, if there is one. */
  readonly metricsUrl?: string | undefined;
  readonly isEncrypted: boolean;
  /** Asks clients to use other servers, and still answers. */
  retire(): void;
  /** Refuses new requests, finishes running ones within `drainTimeoutMs`, then closes the connections. */
  close(drainTimeoutMs: number): Promise<void>;
}

/** Parts of a server that several listeners need besides the settings of the transports. */
export interface ListenerParts {
  readonly service: LocalService;
  readonly choices: ServerChoices;
  /** Kilobytes of the requests of each thread. */
  readonly held: SharedArrayBuffer;
}

type Ending = Pick<Transports, "retire" | "close">;

/** Retires and closes two transports together; the second one may be missing. */
export function bothTransports(grpc: Ending, http: Ending | undefined): Ending & { readonly graceMs: () => number } {
  let graceMs = 0;
  const retire = () => {
    graceMs = LAST_CALL_MS;
    grpc.retire();
    http?.retire();
  };
  const close = async (ms: number) => void (await Promise.all([grpc.close(ms), http?.close(ms)]));
  return { retire, close, graceMs: () => graceMs };
}
