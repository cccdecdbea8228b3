import { invalidArgument } from "../../errors.ts";
import type { SettingName } from "../settings/settings.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";
import { monitoringPath } from "./tensorflow-monitoring.ts";
import { readSslConfig } from "./tensorflow-ssl.ts";
import { settingOf, type Translation } from "./translate-flags.ts";

/**
 * The settings of ports, encryption and metrics that several flags and their files
 * say. Throws as {@link readSslConfig}.
 */
export async function tensorflowListening(values: ReadonlyMap<string, string>): Promise<Translation["settings"]> {
  const settings: Translation["settings"] = new Map();
  const set = (name: SettingName, text: string, origin: string) => settings.set(name, settingOf(name, text, origin));
  const port = Number(values.get("port") ?? TENSORFLOW_FLAGS.port.default);
  if (port === 0) set("grpcSocketOnly", "true", "--port");
  const metricsPath = await monitoringPath(values.get("monitoring_config_file") ?? "");
  if (metricsPath !== undefined) set("tensorflowMetricsPath", metricsPath, "--monitoring_config_file");
  const file = values.get("ssl_config_file") ?? "";
  if (file === "") return settings;
  const origin = "--ssl_config_file";
  if (port !== 0 && port === Number(values.get("rest_api_port") ?? 0))
    throw invalidArgument(`${origin} encrypts gRPC alone; expected another --rest_api_port than --port=${port}.`);
  const { cert, key, clientCa } = await readSslConfig(file);
  set("tlsCert", cert, origin);
  set("tlsKey", key, origin);
  if (clientCa !== undefined) set("tlsClientCa", clientCa, origin);
  set("tlsScope", "grpc", origin);
  return settings;
}
