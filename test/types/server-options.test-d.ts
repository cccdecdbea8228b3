import type { ServerOptions } from "kserving";

/** The options of `createServer`, which follow from the table of settings; checked by the compiler. */

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [Name in keyof T]: T[Name] };

/** Options of which this test has the types: none changes, nor goes. Others may come. */
interface Plain {
  readonly host?: string;
  readonly port?: number;
  readonly grpcSocketPath?: string;
  readonly grpcSocketTakeover?: boolean;
  readonly grpcSocketOnly?: boolean;
  readonly grpcChannelArguments?: readonly string[];
  readonly remoteAuthFile?: string;
  readonly maxMessageBytes?: number;
  readonly tensorContent?: boolean;
  readonly requireModelSpec?: boolean;
  readonly mcp?: boolean;
  readonly checkMethodNames?: boolean;
  readonly ignoreUnknownOutputs?: boolean;
  readonly allowClientShm?: boolean;
  readonly tensorflowMetricsPath?: string;
  readonly simpleTensorflowServing?: boolean;
  readonly kserveRoutes?: boolean;
  readonly openvinoMetadata?: boolean;
  readonly ui?: boolean;
  readonly allowControl?: "off" | "local" | "all";
  readonly corsOrigins?: readonly string[];
  readonly maxConnections?: number;
  readonly listeners?: number;
  readonly clientKey?: string;
  readonly clientRate?: number;
  readonly clientBurst?: number;
  readonly clientMaxInFlight?: number;
  readonly trustedProxies?: readonly string[];
  readonly accessLog?: boolean;
  readonly serverTiming?: boolean;
  readonly workers?: number;
  readonly instances?: number;
  readonly isolate?: boolean;
  readonly threads?: number;
  readonly hookTimeoutMs?: number;
  readonly hookStallMs?: number;
  readonly modelStallMs?: number;
  readonly savedModelWarmup?: number;
  readonly versionBatching?: boolean;
  readonly shareThreads?: boolean;
  readonly hookMemoryMb?: number;
  readonly inspectHooks?: boolean;
  readonly loadTimeoutMs?: number;
  readonly failFast?: boolean;
  readonly loadRetries?: number;
  readonly loadRetryMs?: number;
  readonly loadThreads?: number;
  readonly idleUnloadMs?: number;
  readonly modelMemoryBytes?: number;
  readonly memoryCheck?: boolean;
  readonly modelCache?: string;
  readonly archiveHooks?: "own" | "on" | "off";
  readonly modelCacheBytes?: number;
  readonly storagePollMs?: number;
  readonly strictReadiness?: boolean;
  readonly allowLabelsForUnavailable?: boolean;
  readonly maxQueue?: number;
  readonly poisonRequests?: number;
  readonly maxQueueBytes?: number;
  readonly requestTimeoutMs?: number;
  readonly firstPartTimeoutMs?: number;
  readonly partTimeoutMs?: number;
  readonly sendTimeoutMs?: number;
  readonly minClientRate?: number;
  readonly drainTimeoutMs?: number;
}

export const types: Equal<Flat<Pick<ServerOptions, keyof Plain>>, Plain> = true;
type Structured = "stages" | "alias" | "models" | "hooks" | "options" | "warmup" | "name" | "listen" | "http" | "admin";
type More = "metrics" | "sockets" | "tls" | "remoteTls" | "auth" | "tracing" | "requestLog" | "keepFatalRequests";
export const others: Structured | More | "onDownload" | "log" extends keyof ServerOptions ? true : false = true;
