import { invalidArgument } from "../../errors.ts";
import type { SettingName } from "../settings/settings.ts";
import { TENSORFLOW_FLAGS } from "./tensorflow-flags.ts";
import { readSslConfig } from "./tensorflow-ssl.ts";
import { settingOf, type Translation } from "./translate-flags.ts";

/** The settings of gRPC's port and its encryption that several flags and a file say. Throws as {@link readSslConfig}. */
export async function tensorflowListening(values: ReadonlyMap<string, string>): Promise<Translation["settings"]> {
  const settings: Translation["settings"] = new Map();
  const set = (name: SettingName, text: string, origin: string) => settings.set(name, settingOf(name, text, origin));
  const port = Number(values.get("port") ?? TENSORFLOW_FLAGS.port.default);
  if (port === 0) set("grpcSocketOnly", "true", "--port");
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
