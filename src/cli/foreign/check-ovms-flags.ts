import { invalidArgument } from "../../errors.ts";

type Values = ReadonlyMap<string, string>;

/** Flags that describe the only model, in addition to its name and path. */
const OF_MODEL = ["batch_size", "shape", "nireq", "model_version_policy", "target_device", "plugin_config"];
const LOG_LEVELS = ["TRACE", "DEBUG", "INFO", "WARNING", "ERROR"];

/**
 * Checks which flags of `ovms` go together, in its words; gives the address to listen on, undefined where none is said.
 * Throws `invalid_argument`.
 */
export function checkOvmsFlags(values: Values): string | undefined {
  checkModels(values);
  checkPorts(values);
  if (!LOG_LEVELS.includes(values.get("log_level") ?? "INFO"))
    throw invalidArgument(`log_level should be one of: ${LOG_LEVELS.join(", ")}`);
  for (const name of ["mean", "scale", "color_format", "precision"])
    if (has(values, name) && !has(values, "layout"))
      throw invalidArgument(`error parsing options - --${name} parameter requires --layout to be set`);
  return oneAddress(values);
}

function checkModels(values: Values): void {
  const [hasConfig, hasName, hasPath] = ["config_path", "model_name", "model_path"].map((name) => has(values, name));
  if (hasConfig && (hasName || hasPath)) throw invalidArgument("Use either config_path or model_path with model_name");
  if (!hasConfig && !(hasName && hasPath)) throw invalidArgument("Use config_path or model_path with model_name");
  if (hasConfig && OF_MODEL.some((name) => has(values, name)))
    throw invalidArgument("Model parameters in CLI are exclusive with the config file");
}

function checkPorts(values: Values): void {
  const [port, restPort] = [Number(values.get("port") ?? 0), Number(values.get("rest_port") ?? 0)];
  if (values.get("metrics_enable") === "true" && restPort === 0)
    throw invalidArgument("rest_port setting is missing, metrics are enabled on rest port");
  if (has(values, "metrics_list") && values.get("metrics_enable") !== "true")
    throw invalidArgument("metrics_enable setting is missing, required when metrics_list is provided");
  if (port === 0 && restPort === 0) throw invalidArgument("port and rest_port cannot both be unset");
  if (has(values, "rest_workers") && restPort === 0)
    throw invalidArgument("rest_workers is set but rest_port is not set. rest_port is required to start rest servers");
  if (port > MAX_PORT) throw invalidArgument(`port number out of range from 0 to ${MAX_PORT}`);
  if (restPort > MAX_PORT) throw invalidArgument(`rest_port number out of range from 0 to ${MAX_PORT}`);
  if (port === restPort) throw invalidArgument("port and rest_port cannot have the same values");
}

const MAX_PORT = 65535;

/** Both transports listen on one address here. */
function oneAddress(values: Values): string | undefined {
  const given = ["grpc_bind_address", "rest_bind_address"].flatMap((name) => values.get(name) || []);
  const [first, ...others] = new Set(given);
  if (others.length > 0 || first?.includes(","))
    throw invalidArgument(
      `gRPC and HTTP listen on one address here, not on ${given.join(" and ")}; expected the same one for both.`,
    );
  return first;
}

function has(values: Values, name: string): boolean {
  return (values.get(name) ?? "") !== "";
}
