import { TlsFiles } from "../../access/tls-files.ts";
import { reasonText } from "../../errors.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toTlsPaths } from "../commands/tls-options.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import { flagOf, type SettingName, type Settings } from "../settings/settings.ts";
import type { Finding } from "./finding.ts";

/** Reads the settings as `kserving serve` would, with its files, and looks at ports and certificates that they name. */
export async function checkSettings(flags: readonly string[], env: Environment): Promise<readonly Finding[]> {
  const variables = misspeltVariables(env).map((text) => ({ check: "Variables", state: "warning", text }) as const);
  try {
    const { settings, origins } = await readServeSettings(flags, env);
    const given = [...origins].map(([name, origin]) =>
      origin === flagOf(name) ? origin : `${flagOf(name)} by ${origin}`,
    );
    const text = given.length === 0 ? "all settings have their defaults" : given.join(", ");
    const ports = await Promise.all(portsOf(settings).map((port) => checkPort(settings, port)));
    return [{ check: "Settings", state: "ok", text }, ...variables, ...ports, ...(await checkCertificate(settings))];
  } catch (reason) {
    const fix = "kserving config check FILE and kserving --help say what is expected";
    return [{ check: "Settings", state: "problem", text: reasonText(reason), fix }, ...variables];
  }
}

type PortName = Extract<SettingName, "port" | "httpPort">;

/** The ports that the server would listen on: one where gRPC and HTTP share it. */
function portsOf({ grpcSocketOnly, httpEnable, port, httpPort }: Settings<"serve">): readonly PortName[] {
  const isShared = !grpcSocketOnly && port === httpPort && port !== 0;
  return [...(grpcSocketOnly ? [] : ["port" as const]), ...(httpEnable && !isShared ? ["httpPort" as const] : [])];
}

async function checkPort(settings: Settings<"serve">, name: PortName): Promise<Finding> {
  const check = name === "port" ? "gRPC port" : "HTTP port";
  try {
    const port = await probePort(settings.host, settings[name], name);
    return { check, state: "ok", text: `${port} of ${settings.host} is free` };
  } catch (reason) {
    return {
      check,
      state: "problem",
      text: reasonText(reason),
      fix: `${flagOf(name)} 0 takes a free one; ss -ltnp shows who has it`,
    };
  }
}

/** Reads the files as a server does at its start. */
async function checkCertificate(settings: Settings<"serve">): Promise<Finding[]> {
  const check = "Certificate";
  try {
    const paths = toTlsPaths(settings);
    if (paths === undefined) return [];
    const files = await TlsFiles.open(paths);
    const { subject, validTo } = files.certificate;
    const { isSoon = false, text } = files.validityProblem() ?? {};
    if (text === undefined)
      return [{ check, state: "ok", text: `${subject.replaceAll("\n", ", ")} is valid until ${validTo}` }];
    return [{ check, state: isSoon ? "warning" : "problem", text, fix: `renew ${paths.cert}` }];
  } catch (reason) {
    return [{ check, state: "problem", text: reasonText(reason), fix: "kserving --help says what is expected" }];
  }
}
