import type { DriverLocation } from "../../drivers/registry.ts";
import { LOG_LEVELS, type LogLevel } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";
import { isPlainObject } from "../../tensor/record.ts";
import { areModelFacts, type ModelFacts } from "../model-facts.ts";
import type { LoadCommand, ModelThreadData } from "../threads/model-thread-messages.ts";

/** The number of a process's only model. */
export const MODEL_ID = 0;

/** The port of a process's own messages; those of its model follow. */
export const CONTROL_PORT = 0;

/** Asks to load the model, with a {@link LoadOrder}. */
export const LOAD = FIRST_REQUEST;
/** Opens the port that is the record's id. */
export const ATTACH = FIRST_REQUEST + 1;
/** Ends a port, from either side. */
export const DETACH = FIRST_REQUEST + 2;
/** Asks to free the model; later the process is asked to end. */
export const UNLOAD = FIRST_REQUEST + 3;
export const END = FIRST_REQUEST + 4;
/** Asks whether work goes on; its meta is the levels that are logged now. */
export const PING = FIRST_REQUEST + 5;

/** The model is loaded; its facts and values for hooks, packed. */
export const LOADED = FIRST_REQUEST + 6;
/** The model could not be loaded, or freed; an error. */
export const FAILED = FIRST_REQUEST + 7;
export const UNLOADED = FIRST_REQUEST + 8;
/** An event of the log, packed. */
export const LOG = FIRST_REQUEST + 9;
/** Answers a {@link PING}; the id is a count that grows while work goes on. */
export const PONG = FIRST_REQUEST + 10;

/** Bits of a count that a record's id carries. */
export const COUNT_MASK = 0x3fffffff;

/** The model that a process is to load, and what it needs to know of the server. */
export interface LoadOrder {
  readonly driver: DriverLocation;
  readonly command: LoadCommand;
  readonly levels: readonly LogLevel[];
  /** Memory that images may take while they are decoded, in bytes; absent = any. */
  readonly imageBytes?: number;
}

/** The order to load a model in a process, as plain data. */
export function toLoadOrder(data: ModelThreadData, log: Logger): LoadOrder {
  const { driver, name, path, options, threads, hookFolder } = data;
  const { limitBytes } = threadMemory;
  return {
    driver,
    command: { id: MODEL_ID, name, path, options, threads, ...(hookFolder !== undefined && { hookFolder }) },
    levels: writtenLevels(log),
    ...(Number.isFinite(limitBytes) && { imageBytes: limitBytes }),
  };
}

/** The levels that a log writes at the moment. */
export function writtenLevels({ level, filter }: Logger): readonly LogLevel[] {
  if (filter === undefined) return LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));
  return LOG_LEVELS.filter((each) => each !== "silent" && filter.writes(each));
}

/** A record of a process's own port that carries a plain value, tensors included. */
export function packRecord(kind: number, value: unknown): WireRecord {
  const { json, tensors } = packValues(value);
  return { kind, id: 0, meta: json, tensors };
}

/** The value that was packed; throws {@link MalformedMessage} for one that was not packed so. */
export function unpackRecord({ meta, tensors }: WireRecord): unknown {
  try {
    return unpackValues({ json: meta, tensors: tensors ?? {} });
  } catch (cause) {
    throw new MalformedMessage("its values are not packed as they should be", { cause });
  }
}

/** Description of a model by the process that has loaded it. */
export interface LoadedModel {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
}

/** Checks the description of a model by its process, which is not trusted; throws {@link MalformedMessage}. */
export function parseLoaded(value: unknown): LoadedModel {
  const { facts, hookArgs } = (value ?? {}) as { readonly [Name in keyof LoadedModel]?: unknown };
  if (areModelFacts(facts) && isPlainObject(hookArgs)) return { facts, hookArgs };
  throw new MalformedMessage("it describes no model");
}
