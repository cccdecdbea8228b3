import { resolve } from "node:path";
import type { RawOptions } from "../drivers/option-table.ts";
import type { AnyHooks } from "../hooks/hooks.ts";
import type { DescribedModel } from "../serving/inference-service.ts";
import type { QueueLimits } from "../serving/model-places.ts";
import { prefixPath } from "../serving/repository/config/config-source.ts";
import { type ModelConfig, modelConfig } from "../serving/repository/config/model-config.ts";
import type { GivenSticky, VersionPolicy } from "../serving/repository/config/versions.ts";
import { type GivenShadow, toTraffic } from "../serving/repository/config/versions.ts";
import type { StageOptions } from "../serving/repository/stage.ts";
import type { WarmUpEntry } from "../serving/repository/warm-up/warm-up-entry.ts";
import { toWarmUpEntries } from "../serving/repository/warm-up/warm-up-entry.ts";
import type { RequestLogOptions } from "../serving/request-log.ts";
import { claimPath } from "../storage/local-name.ts";
import { toPlace } from "../storage/remote-address.ts";

/**
 * A request of a warm-up: `random` values, or a file with the JSON of KServe V2 or of
 * TensorFlow Serving; alone or with the number of times.
 */
export type WarmUpOption = string | { readonly request: string; readonly count?: number };

/** One of the models that clients call by name, as `createServer` and `server.load` take it. */
export interface NamedModelOptions extends QueueLimits {
  /** A file, a folder with the model in it, or a folder of versions: 1, 2, … */
  readonly path?: string;
  /** A driver's name or the path of a user's own; default: the one that recognizes the path. */
  readonly driver?: string;
  /**
   * The stages of a pipeline, in place of a driver; their paths are relative to the
   * version's folder if there is a {@link path}.
   */
  readonly stages?: readonly StageOptions[];
  /** A hook file's path, or hooks as they are; a version's folder may have its own file. */
  readonly hooks?: string | AnyHooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options?: RawOptions;
  /** Versions to serve of those that are there. Default `latest`: the highest. */
  readonly versions?: "latest" | "all" | { readonly latest: number } | readonly (number | bigint)[];
  /** Versions by label. */
  readonly labels?: Readonly<Record<string, number | bigint>>;
  /** Weights by version, or by another model's name: requests that name no version are split between these. */
  readonly split?: Readonly<Record<string, number>>;
  /**
   * Name of the header, or of gRPC metadata, whose value decides where {@link split}
   * sends a request; or the inputs that do, all or by name.
   */
  readonly sticky?: GivenSticky;
  /**
   * A version, or another model, that gets a copy of requests that name no version (of all, or of a `share` up to 1);
   * its answers are thrown away.
   */
  readonly shadow?: GivenShadow;
  /** Threads that run the hook file. Default: the server's. */
  readonly workers?: number;
  /** Copies of each stage. Default: the server's. */
  readonly instances?: number;
  /** Runs each copy in its own process. Default: as the server does. */
  readonly isolate?: boolean;
  /** Threads that each copy's runtime may use. Default: the server's. */
  readonly threads?: number;
  /**
   * Milliseconds without a request after which it gives its threads and memory back, until the next request loads it
   * again; 0 = never. Default: the server's.
   */
  readonly idleUnloadMs?: number;
  /** Requests to run before a version becomes available; one that fails fails the load. */
  readonly warmup?: WarmUpOption | readonly WarmUpOption[];
  /** Records requests and their answers in files whose paths begin with `prefix`. Default: as the server does. */
  readonly requestLog?: RequestLogOptions;
}

/** A named model, and whether a client has named its path. */
export type GivenModel = NamedModelOptions & Pick<ModelConfig, "isClients">;

/** The model that a client describes; an address stays the server's own if the model before it has it. */
export function ofClient({ name: _, ...described }: DescribedModel, before: ModelConfig | undefined): GivenModel {
  const isSame = before?.path === toPlace(claimPath(described.path));
  return { ...described, isClients: !isSame || before.isClients === true };
}

/** The configuration of a named model. */
export function toModelConfig(name: string, given: GivenModel): ModelConfig {
  const { path, driver, stages, hooks, options, versions, labels = {}, workers, instances, threads } = given;
  const { isolate, warmup, requestLog, isClients } = given;
  const traffic = toTraffic(given);
  const own = Object.entries({ driver, stages, options, workers, instances, isolate, threads });
  return modelConfig({
    ...Object.fromEntries(own.filter(([, value]) => value !== undefined)),
    name,
    ...(path !== undefined && { path: toPlace(claimPath(path)) }),
    ...(isClients && { isClients }),
    ...(hooks !== undefined && { hooks: typeof hooks === "string" ? toPlace(hooks) : hooks }),
    ...(traffic !== undefined && { traffic }),
    ...(versions !== undefined && { versions: toPolicy(versions) }),
    ...(warmup !== undefined && { warmUp: toWarmUp(warmup) }),
    ...(requestLog !== undefined && { requestLog: toRequestLog(requestLog) }),
    labels: new Map(Object.entries(labels).map(([label, version]) => [label, BigInt(version)])),
  });
}

/** The entries of a warm-up; paths go out from the working directory. */
export function toWarmUp(warmup: Exclude<NamedModelOptions["warmup"], undefined>): readonly WarmUpEntry[] {
  const options: readonly WarmUpOption[] = Array.isArray(warmup) ? warmup : [warmup];
  const requests = options.map((one) => (typeof one === "string" ? { request: one } : one));
  return toWarmUpEntries(
    requests.map(({ request, count = 1 }) => ({ request, count })),
    (path) => resolve(path),
  );
}

/** Settings of a request log without those that are undefined; its path goes out from the working directory. */
export function toRequestLog({ prefix, rate, maxBytes, files }: RequestLogOptions): GivenRequestLog {
  return {
    ...(prefix !== undefined && { prefix: prefixPath(prefix, (path) => resolve(path)) }),
    ...(rate !== undefined && { rate }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(files !== undefined && { files }),
  };
}

/** Settings none of which is undefined. */
type GivenRequestLog = { readonly [Name in keyof RequestLogOptions]: NonNullable<RequestLogOptions[Name]> };

function toPolicy(versions: Exclude<NamedModelOptions["versions"], undefined>): VersionPolicy {
  if (versions === "all") return { kind: "all" };
  if (versions === "latest") return { kind: "latest", count: 1 };
  return "latest" in versions
    ? { kind: "latest", count: versions.latest }
    : { kind: "specific", versions: versions.map(BigInt) };
}
