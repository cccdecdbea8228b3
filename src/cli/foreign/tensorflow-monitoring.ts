import { parseTextFormat } from "../../codecs/config/parse-text-format.ts";
import { readConfigText } from "../../repository/config/config-source.ts";
import type { FieldTable } from "../../repository/config/field-table.ts";
import { Findings } from "../../repository/config/findings.ts";
import { readFields } from "../../repository/config/read-fields.ts";

/** https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/monitoring_config.proto */
const MONITORING_FIELDS = {
  prometheus_config: { type: "group", fields: { enable: { type: "boolean" }, path: { type: "text" } } },
} as const satisfies FieldTable;

/**
 * The path of the metrics that a `monitoring_config_file` switches on; undefined where
 * it names none, or switches nothing on. Throws `invalid_argument` with the place of
 * what cannot be read, `failed_precondition` for a file that cannot be.
 */
export async function monitoringPath(file: string): Promise<string | undefined> {
  if (file === "") return undefined;
  const findings = new Findings();
  const node = parseTextFormat(await readConfigText(file), file);
  const fields = readFields(node, MONITORING_FIELDS, { findings, whose: "The monitoring_config_file" });
  findings.assertNone();
  const { enable = false, path = "" } = fields?.prometheus_config ?? {};
  return enable && path !== "" ? path : undefined;
}
