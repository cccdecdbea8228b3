import type { RawOptions } from "../../../drivers/option-table.ts";
import type { AnyHooks } from "../../../hooks/hooks.ts";
import type { Ensemble, Reshaping } from "../../../pipeline/implied-hooks.ts";
import type { TensorSpec } from "../../../tensor/signature/signature.ts";
import type { NeedingModel } from "../../check-needs.ts";
import type { RequestLogOptions } from "../../request-log.ts";
import type { ConfiguredFacts } from "../../servable-description.ts";
import { modelsOfTraffic, type Traffic } from "../../traffic.ts";
import { neededModels, type StageOptions } from "../stage.ts";
import type { WarmUpEntry } from "../warm-up/warm-up-entry.ts";
import { impliedVersions, type VersionPolicy } from "./versions.ts";

/** One named model as a configuration describes it, in any server's format. */
export interface ModelConfig {
  readonly name: string;
  /**
   * Absolute path of a file, of a folder with the model, or of a folder of versions.
   * Absent if the stages have paths.
   */
  readonly path?: string;
  /** The driver's name; absent = derived from the path. */
  readonly driver?: string;
  /**
   * The stages of a pipeline; their paths are absolute, or relative to the version's
   * folder if there is a {@link path}.
   */
  readonly stages?: readonly StageOptions[];
  /** The connections between the {@link stages} instead of hooks; each stage is the model of a step. */
  readonly ensemble?: Ensemble;
  /** A hook file's absolute path, or a hook set. */
  readonly hooks?: string | AnyHooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options: RawOptions;
  readonly versions: VersionPolicy;
  readonly labels: ReadonlyMap<string, bigint>;
  /** Hook threads, copies, and threads of each copy; absent = the server's settings. */
  readonly workers?: number;
  readonly instances?: number;
  readonly threads?: number;
  /** True = each copy runs in its own process; absent = the server's setting. */
  readonly isolate?: boolean;
  /** Maximum number of requests at a time, and of the bytes that they hold; absent = only the server's limits. */
  readonly maxQueue?: number;
  readonly maxQueueBytes?: number;
  /** Idle time after which it is unloaded until the next request, in milliseconds; absent = the server's setting. */
  readonly idleUnloadMs?: number;
  /** Routing of the requests that name no version; absent = to the highest version. */
  readonly traffic?: Traffic;
  /** Files in which its requests are recorded; absent = the server's setting. */
  readonly requestLog?: RequestLogOptions;
  /** The name of the model's file in each version's folder; absent = the only model there. */
  readonly file?: string;
  /** Requests to run before a version becomes available. */
  readonly warmUp?: readonly WarmUpEntry[];
  /** Tensors that the model's signature must have, checked once it is loaded. */
  readonly expected?: ExpectedTensors;
  /** Facts that describe each of its versions as they are. */
  readonly configured?: ConfiguredFacts;
  /** Absolute paths of the files with the names of an output's classes, by output. */
  readonly labelFiles?: ReadonlyMap<string, string>;
  /** Layouts of the inputs that are images. */
  readonly imageLayouts?: ReadonlyMap<string, "NHWC" | "NCHW">;
  /** The shapes in which clients send and get tensors, if the model has others. */
  readonly reshaping?: Reshaping;
  /** True if a client has named its {@link path}. */
  readonly isClients?: boolean;
  /** The reason why it cannot be served, though its configuration can be read. */
  readonly refusal?: string;
}

/** Inputs and outputs as a configuration describes them. */
interface ExpectedTensors {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** Fills in the defaults of a configuration. */
export function modelConfig(given: Partial<ModelConfig> & Pick<ModelConfig, "name">): ModelConfig {
  return { options: {}, versions: impliedVersions(given.traffic), labels: new Map(), ...given };
}

/** Text of a configuration, for comparisons: equal configurations have equal texts. */
export function configText(config: Partial<ModelConfig>): string {
  return JSON.stringify(config, (_, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    return value instanceof Map ? [...value] : value;
  });
}

/** The other models that a model's description names. */
export function toNeedingModel({
  name,
  stages = [],
  traffic,
}: Pick<ModelConfig, "name" | "stages" | "traffic">): NeedingModel {
  return { name, needs: neededModels({ stages }), traffic: modelsOfTraffic(traffic) };
}
