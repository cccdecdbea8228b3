import type { JsonObject } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { GrpcProtocolOptions, GrpcRoutes, UnaryMethod } from "../../grpc/grpc-route.ts";
import { SMALL_REQUEST_BYTES } from "../../limits/transport-limits.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { modelStatus } from "./model-status.ts";
import { type CountedServer, readMetrics } from "./read-metrics.ts";
import { readReloadConfig } from "./reload-config.ts";

const MODEL_SERVICE = "tensorflow.serving.ModelService";
/** Bytes of the largest configuration. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

/** The routes of TensorFlow Serving's ModelService. */
export function modelServiceRoutes(
  service: InferenceService,
  { metrics }: Pick<GrpcProtocolOptions, "metrics">,
): GrpcRoutes {
  const [status, reload] = [statusMethod(service), reloadMethod({ service, metrics })];
  return {
    [`/${MODEL_SERVICE}/GetModelStatus`]: { kind: "read", method: status, maxBytes: SMALL_REQUEST_BYTES },
    [`/${MODEL_SERVICE}/HandleReloadConfigRequest`]: { kind: "control", method: reload, maxBytes: MAX_CONFIG_BYTES },
  };
}

function statusMethod(service: InferenceService): UnaryMethod {
  return async (message, { record }) => {
    const { decodeMessage, encodeAs } = await import("../../codecs/protobuf/proto-messages.ts");
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
    const { decodeMessage, encodeAs } = await import("../../codecs/protobuf/proto-messages.ts");
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
