import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CallKind } from "../../access/caller.ts";
import { ServingError } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { UnaryMethod } from "../../grpc/grpc-route.ts";
import type { Logger } from "../../observability/logger.ts";
import type { RequestTracer } from "../../observability/request-tracer.ts";
import type { SharedMemory } from "../../platform/shared-memory/shared-memory.ts";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { reloadModel, unloadModel } from "./control.ts";
import { decodeGrpcLoad } from "./load-request.ts";
import { changeLogging, logSettings } from "./log-settings.ts";
import { modelConfig } from "./model-config.ts";
import { type ModelMetadata, modelMetadata } from "./model-metadata.ts";
import { describeModel, isModelReady, toModelRef } from "./model-ref.ts";
import { modelStatistics } from "./model-statistics.ts";
import type { Parameter, Parameters } from "./parameters.ts";
import { listRegions, registerRegion, type SharedMemoryKind, unregisterRegions } from "./region-calls.ts";
import { repositoryIndex } from "./repository-index.ts";
import { serverMetadata } from "./server-metadata.ts";
import { changeTracing, traceSettings } from "./trace-settings.ts";

/** Services for the calls. */
export interface AdminContext {
  readonly service: InferenceService;
  readonly log: Pick<Logger, "level" | "filter" | "info">;
  readonly tracer?: RequestTracer | undefined;
  /** Regions that clients register; absent = they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
}

/**
 * A call whose answer is in protobuf's JSON form; `assertMay` throws unless the client may do what only some requests
 * do.
 */
type AdminCall = (request: JsonObject, context: AdminContext, assertMay: (kind: CallKind) => void) => Promise<unknown>;

/** A call about regions of shared memory, with messages in protobuf's JSON form. */
type RegionCall = (request: JsonObject, regions: SharedMemory | undefined) => object;

/** Calls about regions of shared memory, by name. */
const REGION_CALLS: Readonly<Record<string, RegionCall>> = {
  ...callsOf("system", "System"),
  ...callsOf("cuda", "Cuda"),
};

function callsOf(kind: SharedMemoryKind, prefix: string): Record<string, RegionCall> {
  return {
    [`${prefix}SharedMemoryStatus`]: ({ name }, regions) => {
      const found = listRegions(kind, String(name), regions);
      return { regions: Object.fromEntries(found.map((region) => [region.name, region])) };
    },
    [`${prefix}SharedMemoryRegister`]: ({ name, key, offset, byte_size: byteSize }, regions) => {
      // 64-bit integers are texts in this form.
      const sizes = { offset: BigInt(String(offset ?? 0)), byte_size: BigInt(String(byteSize)) };
      registerRegion(kind, String(name), new Map(Object.entries({ key: String(key), ...sizes })), regions);
      return {};
    },
    [`${prefix}SharedMemoryUnregister`]: ({ name }, regions) => {
      unregisterRegions(kind, String(name), regions);
      return {};
    },
  };
}

/** Every call other than inference, by name; the messages of a call are named after it. */
const ADMIN_CALLS: Readonly<Record<string, AdminCall>> = {
  ServerLive: async () => ({ live: true }),
  ServerReady: async (_request, { service }) => ({ ready: service.isReady() }),
  ModelReady: async (request, { service }) => ({ ready: await isReady(toRef(request), service) }),
  ServerMetadata: async (_request, { sharedMemory }) => serverMetadata(sharedMemory !== undefined),
  ModelMetadata: async (request, { service }) => withTypedValues(modelMetadata(service, await find(request, service))),
  ModelConfig: async (request, { service }) => ({ config: modelConfig(await find(request, service)) }),
  ModelStatistics: async (request, { service }) => ({ model_stats: await modelStatistics(service, toRef(request)) }),
  RepositoryIndex: async ({ ready }, { service }) => ({ models: repositoryIndex(service, ready === true) }),
  RepositoryModelUnload: async ({ model_name: model, parameters }, context) => {
    await unloadModel(context.service, String(model), toControlParameters(parameters as JsonObject));
    return {};
  },
  TraceSetting: async ({ settings, model_name: model }, context, assertMay) => {
    const changes = new Map(Object.entries(settings as JsonObject));
    if (changes.size > 0) assertMay("control");
    if (model !== "") await describeModel(context.service, toModelRef(String(model), ""));
    const values = mapEntries(changes, (setting) => (setting as { value: string[] }).value);
    const sampling = context.tracer?.sampling;
    changeTracing(values, sampling, String(model));
    return { settings: mapValues(traceSettings(sampling), (value) => ({ value: [value].flat() })) };
  },
  LogSettings: async ({ settings }, context, assertMay) => {
    const changes = new Map(Object.entries(settings as JsonObject));
    if (changes.size > 0) assertMay("control");
    changeLogging(
      context.log,
      mapEntries(changes, (setting) => Object.values(setting as JsonObject)[0]),
    );
    return { settings: mapValues(logSettings(context.log), toSettingValue) };
  },
  ...mapValues(REGION_CALLS, toAdminCall),
};

/** The call whose message may contain whole models, which are never converted to JSON. */
export const LOAD_CALL = "RepositoryModelLoad";

/** Calls that always change the server. */
const CONTROL_CALLS: ReadonlySet<string> = new Set([LOAD_CALL, "RepositoryModelUnload"]);
/** Calls for clients that may run models: they change only where tensors are. */
const REGION_CHANGES: ReadonlySet<string> = new Set(
  Object.keys(REGION_CALLS).filter((name) => !name.endsWith("Status")),
);
const HEALTH_CALLS: ReadonlySet<string> = new Set(["ServerLive", "ServerReady", "ModelReady"]);

/** The kind of a call other than inference. */
export function adminKind(name: string): CallKind {
  if (HEALTH_CALLS.has(name)) return "health";
  if (REGION_CHANGES.has(name)) return "inference";
  return CONTROL_CALLS.has(name) ? "control" : "read";
}

/** The names of these calls. */
export const ADMIN_CALL_NAMES: readonly string[] = [...Object.keys(ADMIN_CALLS), LOAD_CALL];

/** A call other than inference, as a method over bytes; its message types are loaded with the first call. */
export function adminMethod(name: string, context: AdminContext): UnaryMethod {
  if (name === LOAD_CALL) return loadMethod(context);
  const call = ADMIN_CALLS[name] as AdminCall;
  return async (message, _call, assertMay) => {
    const { decodeMessage, encodeAs } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
    const answer = await call(decodeMessage(`inference.${name}Request`, message), context, assertMay);
    return { message: frameBytes(encodeAs(`inference.${name}Response`, answer as JsonValue)) };
  };
}

function loadMethod({ service }: AdminContext): UnaryMethod {
  return async (message) => {
    const { model, parameters } = decodeGrpcLoad(message);
    await reloadModel(service, model, parameters);
    // The answer is an empty message.
    return { message: frameBytes(new Uint8Array(0)) };
  };
}

function find(request: JsonObject, service: InferenceService): Promise<ServableDescription> {
  return describeModel(service, toRef(request));
}

function toRef({ name, version }: JsonObject): ModelRef {
  return toModelRef(String(name), String(version));
}

/** Parameters have each value in the field of its type. */
function withTypedValues({ inputs, ...metadata }: ModelMetadata): object {
  const typed = inputs.map(({ parameters = {}, ...tensor }) => ({
    ...tensor,
    parameters: mapValues(parameters, (text) => ({ string_param: text })),
  }));
  return { ...metadata, inputs: typed };
}

/** Each value is in the one field of its type. */
function toControlParameters(parameters: JsonObject): Parameters {
  const values = Object.entries(parameters).map(
    ([name, value]) => [name, Object.values(value as JsonObject)[0] as Parameter] as const,
  );
  return new Map(values);
}

function mapEntries<Value>(
  entries: ReadonlyMap<string, JsonValue>,
  map: (value: JsonValue) => Value,
): Map<string, Value> {
  return new Map([...entries].map(([name, value]) => [name, map(value)]));
}

function mapValues<Value, Mapped>(record: object, map: (value: Value) => Mapped): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

function toSettingValue(value: boolean | number | string): object {
  if (typeof value === "boolean") return { bool_param: value };
  return typeof value === "number" ? { uint32_param: value } : { string_param: value };
}

/** Triton's clients interpret an error as a failure of the call, not as the answer that the model is missing. */
async function isReady(ref: ModelRef, service: InferenceService): Promise<boolean> {
  try {
    return isModelReady(service, await describeModel(service, ref));
  } catch (reason) {
    const { code } = ServingError.from(reason);
    if (code === "not_found" || code === "unavailable") return false;
    throw reason;
  }
}

function toAdminCall(call: RegionCall): AdminCall {
  return async (request, { sharedMemory }) => call(request, sharedMemory);
}
