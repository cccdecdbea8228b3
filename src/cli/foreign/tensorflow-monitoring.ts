import type { ConfigMap, ConfigNode } from "../../codecs/config/config-node.ts";
import { parseTextFormat } from "../../codecs/config/parse-text-format.ts";
import { readConfigText } from "../../repository/config/read-config-text.ts";

const PATH = "/monitoring/prometheus/metrics";

/**
 * Reads a `monitoring_config_file`; gives a warning where it asks for metrics at a path where there are none. Throws `invalid_argument`
 * with the place of what cannot be read, `failed_precondition` for a file that cannot be.
 */
export async function monitoringWarnings(file: string): Promise<readonly string[]> {
  if (file === "") return [];
  const prometheus = member(parseTextFormat(await readConfigText(file), file), "prometheus_config");
  const path = prometheus === undefined ? undefined : textOf(member(prometheus, "path"));
  if (path === undefined || path === "" || path === PATH) return [];
  return [`--monitoring_config_file: metrics are at ${PATH} and at /metrics, not at ${path}.`];
}

/** The last one where several are given, as protobuf has it. */
function member(node: ConfigNode, name: string): ConfigNode | undefined {
  const entries = node.kind === "map" ? (node as ConfigMap).entries : [];
  return entries.findLast(({ key }) => key === name)?.value;
}

function textOf(node: ConfigNode | undefined): string | undefined {
  return node?.kind === "scalar" ? node.text : undefined;
}
