import { policyText } from "../../repository/config/versions.ts";
import type { InspectedModel } from "../../repository/folders/list-models.ts";
import { trafficText } from "../../serving/traffic.ts";
import { toColumns } from "../../text/columns.ts";
import { maskOption } from "../../text/mask-secrets.ts";

/** Lines that show the models that would be served, as a table, and the reasons of those that would not. */
export function toConfigTable(models: readonly InspectedModel[]): string[] {
  if (models.length === 0) return [];
  const refused = models.flatMap(({ config, problem }) =>
    problem === undefined ? [] : [`not served: ${config.name}: ${problem}`],
  );
  return [...toColumns([["Model", "Driver", "Path", "Versions", "Options"], ...models.map(toCells)]), ...refused];
}

function toCells({ config, driver, chosen, available }: InspectedModel): string[] {
  const { name, path, stages = [], labels, options, traffic } = config;
  const paths = stages.map(({ model, path: own = "-" }) => (model === undefined ? own : `model ${model}`)).join(" → ");
  const others = available.length - chosen.length;
  const of = others === 0 ? "" : ` (${policyText(config.versions)} of ${available.length})`;
  const labelled = [...labels].map(([label, version]) => `${label} = ${version}`);
  return [
    name,
    driver,
    path ?? (paths || "-"),
    [`${chosen.join(", ") || "none"}${of}`, ...labelled, ...(traffic ? [trafficText(traffic)] : [])].join("; "),
    optionsText(options) || "-",
  ];
}

/** `-o` options as they stand on the command line, without the flag; secrets are masked. */
export function optionsText(options: Readonly<Record<string, string>>): string {
  return Object.entries(options)
    .map(([key, value]) => `${key}=${maskOption(key, value)}`)
    .join(" ");
}
