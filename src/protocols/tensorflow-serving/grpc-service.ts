import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { CreateGrpcProtocol, GrpcProtocolOptions, GrpcRoutes, UnaryMethod } from "../../grpc/grpc-route.ts";
import type { RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import type { DescribedModel, InferenceService } from "../../serving/inference-service.ts";
import { assertModelName } from "../../serving/model-name.ts";
import type { RequestLogOptions } from "../../serving/request-log.ts";
import { exampleMethod, multiInferenceMethod } from "./examples/grpc-examples.ts";
import { PREDICT_NESTING } from "./grpc-codec.ts";
import { predictMethod, predictStreamedMethod } from "./grpc-predict.ts";
import { sessionServiceRoutes } from "./grpc-session-service.ts";
import { encodeModelMetadata, modelMetadata, SIGNATURE_DEF } from "./model-metadata.ts";
import { modelStatus } from "./model-status.ts";

/** The service that TensorFlow Serving's clients call. */
const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;

/** The gRPC part of TensorFlow Serving's protocol. */
export const createTensorflowGrpc: CreateGrpcProtocol = (service, options) => ({
  routes: {
    [PREDICT_PATH]: { kind: "inference", method: predictMethod(service, options), nesting: PREDICT_NESTING },
    [`/${PREDICTION_SERVICE}/PredictStreamed`]: { kind: "inference", stream: predictStreamedMethod(service, options) },
    [`/${PREDICTION_SERVICE}/Classify`]: { kind: "inference", method: exampleMethod(service, "classify", options) },
    [`/${PREDICTION_SERVICE}/Regress`]: { kind: "inference", method: exampleMethod(service, "regress", options) },
    [`/${PREDICTION_SERVICE}/MultiInference`]: { kind: "inference", method: multiInferenceMethod(service, options) },
    [`/${PREDICTION_SERVICE}/GetModelMetadata`]: {
      kind: "read",
      method: metadataMethod(service, options),
      maxBytes: SMALL_REQUEST_BYTES,
    },
    ...modelServiceRoutes(service, options),
    ...sessionServiceRoutes(service, options),
  },
});

/** PredictionService.GetModelMetadata, with the original's texts. */
function metadataMethod(service: InferenceService, { settings }: GrpcProtocolOptions): UnaryMethod {
  return async (message, { record }) => {
    const { decodeMessage } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
    const request = decodeMessage("tensorflow.serving.GetModelMetadataRequest", message);
    const { model_spec: spec, metadata_field: fields } = request as { [field: string]: JsonValue };
    if (spec === undefined) throw invalidArgument("Missing ModelSpec");
    checkFields(fields as string[]);
    const { name, version, version_label: label } = spec as JsonObject;
    const model = String(name);
    if (settings.requireModelSpec && model === "") throw invalidArgument("ModelSpec has no name specified.");
    record.model = model;
    const ref = {
      model,
      ...(version != null && { version: BigInt(String(version)) }),
      ...(label !== undefined && { label: String(label) }),
    };
    return { message: frameBytes(await encodeModelMetadata(await modelMetadata(service, ref))) };
  };
}

function checkFields(fields: readonly string[]): void {
  if (fields.length === 0) throw invalidArgument("GetModelMetadataRequest must specify at least one metadata_field");
  const unknown = fields.find((field) => field !== SIGNATURE_DEF);
  if (unknown !== undefined) throw invalidArgument(`Metadata field ${unknown} is not supported`);
}

const MODEL_SERVICE = "tensorflow.serving.ModelService";
/** Bytes of the largest configuration. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

function modelServiceRoutes(service: InferenceService, { metrics }: Pick<GrpcProtocolOptions, "metrics">): GrpcRoutes {
  const [status, reload] = [statusMethod(service), reloadMethod({ service, metrics })];
  return {
    [`/${MODEL_SERVICE}/GetModelStatus`]: { kind: "read", method: status, maxBytes: SMALL_REQUEST_BYTES },
    [`/${MODEL_SERVICE}/HandleReloadConfigRequest`]: { kind: "control", method: reload, maxBytes: MAX_CONFIG_BYTES },
  };
}

function statusMethod(service: InferenceService): UnaryMethod {
  return async (message, { record }) => {
    const { decodeMessage, encodeAs } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
    const { model_spec: spec } = decodeMessage("tensorflow.serving.GetModelStatusRequest", message);
    if (spec === undefined) throw invalidArgument("Missing ModelSpec");
    const { name, version } = spec as JsonObject;
    const model = String(name);
    record.model = model;
    const status = modelStatus(service, { model, version: version == null ? undefined : BigInt(String(version)) });
    const answer = encodeAs("tensorflow.serving.GetModelStatusResponse", { ...status } as unknown as JsonObject);
    return { message: frameBytes(answer) };
  };
}

function reloadMethod(counted: CountedServer): UnaryMethod {
  return async (message) => {
    const { decodeMessage, encodeAs } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
    const request = decodeMessage("tensorflow.serving.ReloadConfigRequest", message);
    const names = [...new Set(request.metric_names as string[])];
    const before = await readMetrics(names, counted);
    await counted.service.reconfigure(readReloadConfig(request));
    const after = await readMetrics(names, counted);
    const metric = names.map((name, at) => ({ name, int64_value_increase: after[at]! - before[at]! }));
    const answer = encodeAs("tensorflow.serving.ReloadConfigResponse", { status: { error_code: "OK" }, metric });
    return { message: frameBytes(answer) };
  };
}

/** A server, and the counts of its requests; absent = they are not counted. */
interface CountedServer {
  readonly service: InferenceService;
  readonly metrics?: RequestMetrics | undefined;
}

/**
 * The values of counters by the original's own names, such as `/tensorflow/serving/request_count`, in their order: of
 * several series the first, as there; 0 if it is not counted here.
 */
async function readMetrics(names: readonly string[], { service, metrics }: CountedServer): Promise<readonly number[]> {
  if (names.length === 0) return [];
  const { tensorflowServingMetrics } = await import("../prometheus/tensorflow-serving-metrics.ts");
  await metrics?.gather();
  const [recorded, statistics] = [service.recorded?.() ?? [], await service.statistics()];
  const families = tensorflowServingMetrics({ series: metrics?.series() ?? [], recorded, statistics });
  return names.map((name) => {
    const ours = name.replaceAll(/\W/g, ":");
    const value = families.find((family) => family.name === ours)?.samples[0]?.value;
    return typeof value === "number" ? value : 0;
  });
}

/**
 * The models of a tensorflow.serving.ReloadConfigRequest in protobuf's JSON form; throws `invalid_argument` with
 * TensorFlow Serving's texts.
 */
export function readReloadConfig(request: JsonObject): readonly DescribedModel[] {
  const { model_config_list: list } = (request.config ?? {}) as { model_config_list?: { config: JsonObject[] } };
  if (list === undefined) throw invalidArgument(NO_LIST);
  const models = list.config.map(toModel);
  const names = new Set<string>();
  const twice = models.find(({ name }) => names.size === names.add(name).size);
  if (twice !== undefined) throw invalidArgument(`Illegal to list model ${twice.name} multiple times in config list`);
  return models;
}

const NO_LIST =
  "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported";

function toModel(config: JsonObject): DescribedModel {
  const { name, base_path, model_version_policy: policy, version_labels, logging_config: logging } = config;
  if (name === "") throw invalidArgument("A model of the config list has no name; expected one.");
  assertModelName(String(name));
  const labels = Object.entries((version_labels ?? {}) as Record<string, string>);
  return {
    name: String(name),
    path: String(base_path),
    versions: toVersions((policy ?? {}) as Policy),
    labels: Object.fromEntries(labels.map(([label, version]) => [label, BigInt(version)])),
    ...(logging != null && { requestLog: toRequestLog(String(name), logging as Logging) }),
  };
}

interface Logging {
  readonly log_collector_config?: { readonly filename_prefix: string };
  readonly sampling_config?: { readonly sampling_rate: number };
}

/** The members that it has; the others are those of the server. */
function toRequestLog(model: string, { log_collector_config, sampling_config }: Logging): RequestLogOptions {
  const { filename_prefix: prefix = "" } = log_collector_config ?? {};
  const { sampling_rate: rate } = sampling_config ?? {};
  // NaN and infinities are texts in protobuf's JSON.
  if (rate !== undefined && !(rate >= 0 && rate <= 1))
    throw invalidArgument(`The sampling_rate of model ${model} is ${rate}; expected a number from 0 to 1.`);
  return { ...(prefix !== "" && { prefix }), ...(rate !== undefined && { rate }) };
}

interface Policy {
  readonly latest?: { readonly num_versions: number };
  readonly all?: object;
  readonly specific?: { readonly versions: readonly string[] };
}

function toVersions({ latest, all, specific }: Policy): DescribedModel["versions"] {
  if (specific !== undefined) return specific.versions.map(BigInt);
  return all === undefined ? { latest: Math.max(1, latest?.num_versions ?? 1) } : "all";
}
