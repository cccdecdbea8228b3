import type { Setting } from "../../platform/limits/settings/setting.ts";
import { nearest } from "../../platform/text/nearest.ts";
import type { GivenText } from "./read-setting.ts";
import { envOf, SETTINGS, type SettingName } from "./settings.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a setting from the environment. An empty variable counts as absent, which is how many platforms unset one. */
export function fromEnvironment(name: SettingName, setting: Setting, env: Environment): GivenText | undefined {
  for (const source of [envOf(name), setting.alsoEnv]) {
    const text = source === undefined ? undefined : env[source];
    if (source !== undefined && text !== undefined && text !== "" && !isServiceLink(text)) return { source, text };
  }
  return undefined;
}

const PREFIX = "KSERVING_";

function endingOf(name: string): string {
  return name.slice(PREFIX.length);
}

/** A warning for each `KSERVING_` variable that looks like a misspelt setting. */
export function misspeltVariables(env: Environment): string[] {
  const known = (Object.keys(SETTINGS) as SettingName[]).map(envOf);
  // What all of them begin with would make far names near.
  const endings = known.map(endingOf);
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(PREFIX) || known.includes(name) || SERVICE_LINK_NAME.test(name) || RUNTIME_NAME.test(name))
      return [];
    const meant = nearest(endingOf(name), endings);
    return meant === undefined
      ? []
      : [`The environment variable ${name} is not a setting. Did you mean ${PREFIX}${meant}?`];
  });
}

/** Places of native runtimes, which the code that looks for them reads: docs/runtimes.md. */
const RUNTIME_NAME = /^KSERVING_(RUNTIMES_DIR|[A-Z]+_LIB)$/;

/** Variables that Kubernetes sets in every pod next to a service called kserving, except for KSERVING_PORT. */
const SERVICE_LINK_NAME = /^KSERVING_(SERVICE_(HOST|PORT)|PORT_\d)/;

/** Kubernetes sets KSERVING_PORT=tcp://10.0.0.1:9000 in such a pod. */
function isServiceLink(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text);
}
