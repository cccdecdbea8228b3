import { createSilentLogger } from "../../observability/logger.ts";
import { maskOption, maskSecrets } from "../../platform/text/mask-secrets.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import { policyText } from "../../serving/repository/config/versions.ts";
import { ConfigSources } from "../../serving/repository/config-sources.ts";
import { type InspectedModel, inspectModel } from "../../serving/repository/folders/list-models.ts";
import { ScanState } from "../../serving/repository/scan-state.ts";
import { trafficText } from "../../serving/traffic.ts";
import type { Environment } from "../settings/environment.ts";
import { readServeSettings, type ServeCommandLine } from "../settings/read-serve-settings.ts";
import { flagOf, settingsOf, writtenValue } from "../settings/settings.ts";
import { toModelSources } from "./model-sources.ts";

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

/**
 * Lines that show the configuration that these flags of `kserving serve` would have: every setting with its value and
 * origin, and the named models; secrets are masked.
 */
export async function showConfig(argv: readonly string[], env: Environment): Promise<readonly string[]> {
  const commandLine = await readServeSettings(argv, env);
  const settings = toColumns([["Setting", "Value", "Origin"], ...toRows(commandLine)]);
  const sources = toModelSources(commandLine);
  if (sources === undefined) return settings;
  const models = await new ConfigSources(sources).read(new ScanState(createSilentLogger(), 0));
  return [...settings, "", ...toConfigTable(await Promise.all(models.map(inspectModel)))];
}

function toRows({ settings, origins }: ServeCommandLine): string[][] {
  const values: Readonly<Record<string, unknown>> = settings;
  return settingsOf("serve").map(([name, setting]) => [
    flagOf(name).slice(2),
    maskSecrets(
      name === "option"
        ? optionTexts(settings.option)
        : valueText(values[name] === undefined ? undefined : writtenValue(setting, values[name])),
    ),
    origins.get(name) ?? "default",
  ]);
}

function optionTexts(options: readonly string[]): string {
  const masked = options.map((option) => {
    const [key = "", ...value] = option.split("=");
    return `${key}=${maskOption(key.replace(/^\d+:/, ""), value.join("="))}`;
  });
  return valueText(masked);
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ") || "-";
  return value === undefined ? "-" : String(value);
}
