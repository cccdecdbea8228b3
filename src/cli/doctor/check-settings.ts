import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { reasonText } from "../../errors.ts";
import { probePort } from "../addresses/probe-port.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import { readServeSettings } from "../settings/read-serve-settings.ts";
import { flagOf, type SettingName, type Settings } from "../settings/settings.ts";
import type { Finding } from "./finding.ts";

/** Time before a certificate's end at which it should be renewed, in days. */
const SOON_DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads the settings as `kserving serve` would, with its files, and looks at ports and certificates that they name. */
export async function checkSettings(flags: readonly string[], env: Environment): Promise<readonly Finding[]> {
  const variables = misspeltVariables(env).map((text) => ({ check: "Variables", state: "warning", text }) as const);
  try {
    const { settings, origins } = await readServeSettings(flags, env);
    const given = [...origins].map(([name, origin]) =>
      origin === flagOf(name) ? origin : `${flagOf(name)} by ${origin}`,
    );
    const text = given.length === 0 ? "all settings have their defaults" : given.join(", ");
    const ports = await Promise.all([checkPort(settings, "port"), checkPort(settings, "httpPort")]);
    return [{ check: "Settings", state: "ok", text }, ...variables, ...ports, ...checkCertificate(settings)];
  } catch (reason) {
    const fix = "kserving config check FILE and kserving --help say what is expected";
    return [{ check: "Settings", state: "problem", text: reasonText(reason), fix }, ...variables];
  }
}

async function checkPort(
  settings: Settings<"serve">,
  name: Extract<SettingName, "port" | "httpPort">,
): Promise<Finding> {
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

function checkCertificate({ tlsCert: path }: Settings<"serve">): Finding[] {
  if (path === undefined) return [];
  const check = "Certificate";
  try {
    const { subject, validTo } = new X509Certificate(readFileSync(path));
    const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
    const text = `${subject.replaceAll("\n", ", ")} is valid until ${validTo}`;
    if (days < 0) return [{ check, state: "problem", text: `${text}, which is over`, fix: `renew ${path}` }];
    return [
      { check, state: days < SOON_DAYS ? "warning" : "ok", text, ...(days < SOON_DAYS && { fix: `renew ${path}` }) },
    ];
  } catch (reason) {
    return [{ check, state: "problem", text: `${path}: ${reasonText(reason)}`, fix: "expected a certificate in PEM" }];
  }
}
