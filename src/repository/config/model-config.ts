import type { RawOptions } from "../../drivers/option-table.ts";
import type { Hooks } from "../../hooks/hooks.ts";
import type { RequestLogOptions } from "../../serving/request-log.ts";
import type { Traffic } from "../../serving/traffic.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import type { Ensemble } from "../ensemble.ts";
import type { StageOptions } from "../stage.ts";
import type { WarmUpEntry } from "../warm-up/warm-up-entry.ts";
import { impliedVersions } from "./read-traffic.ts";
import type { VersionPolicy } from "./version-policy.ts";

/** One named model as a configuration describes it, whichever server's file it was. */
export interface ModelConfig {
  readonly name: string;
  /** Absolute: a file, a folder with the model in it, or a folder of versions. Left out where the stages say all. */
  readonly path?: string;
  /** The driver's name; left out = told by the path. */
  readonly driver?: string;
  /** The stages of a pipeline; their paths are absolute, or relative to the version's folder where there is a {@link path}. */
  readonly stages?: readonly StageOptions[];
  /** The way of tensors through the {@link stages}, in place of hooks; each stage is the model of a step. */
  readonly ensemble?: Ensemble;
  /** A hook file's absolute path, or hooks as they are. */
  readonly hooks?: string | Hooks;
  /** `-o` options for all drivers and the hooks. */
  readonly options: RawOptions;
  readonly versions: VersionPolicy;
  readonly labels: ReadonlyMap<string, bigint>;
  /** Hook threads, copies and threads of each copy; left out = as the server's settings say. */
  readonly workers?: number;
  readonly instances?: number;
  readonly threads?: number;
  /** Requests at a time, and bytes that they hold, at most; left out = the server's limits alone. */
  readonly maxQueue?: number;
  readonly maxQueueBytes?: number;
  /** Milliseconds without a request after which it is unloaded until the next one; left out = as the server's settings say. */
  readonly idleUnloadMs?: number;
  /** Ways of the requests that name no version; left out = to the highest version. */
  readonly traffic?: Traffic;
  /** The files that its requests are recorded in; left out = as the server's settings say. */
  readonly requestLog?: RequestLogOptions;
  /** The name of the model's file in each version's folder; left out = the one model there. */
  readonly file?: string;
  /** Requests to run before a version becomes available. */
  readonly warmUp?: readonly WarmUpEntry[];
  /** Tensors that the model's signature has to have, checked once it is loaded. */
  readonly expected?: ExpectedTensors;
  /** The reason why it cannot be served, though its configuration can be read. */
  readonly refusal?: string;
}

/** Inputs and outputs as a configuration describes them. */
interface ExpectedTensors {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** A configuration with what it leaves out. */
export function modelConfig(given: Partial<ModelConfig> & Pick<ModelConfig, "name">): ModelConfig {
  return { options: {}, versions: impliedVersions(given.traffic), labels: new Map(), ...given };
}

/** Text of a configuration; equal ones have the same. */
export function configText(config: ModelConfig): string {
  return JSON.stringify(config, (_, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    return value instanceof Map ? [...value] : value;
  });
}
