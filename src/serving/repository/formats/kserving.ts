import { didYouMean } from "../../../platform/text/nearest.ts";
import type { ConfigEntry, ConfigMap, ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import { type ConfigSource, pathIn, prefixPath, remotePathRefusal } from "../config/config-source.ts";
import type { FieldValues } from "../config/field-table.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { MODEL_FIELDS } from "../config/model-fields.ts";
import { readFields } from "../config/read-fields.ts";
import { type GivenTraffic, toTraffic, trafficProblem } from "../config/versions.ts";
import { toWarmUpEntries } from "../warm-up/warm-up-entry.ts";

/** Our own configuration file. */
export interface OwnConfig {
  readonly models: readonly ModelConfig[];
  /** Server settings by the names of their flags. */
  readonly settings: readonly ConfigEntry[];
}

/** Key of the models. */
const MODELS_KEY = "models";
/** Keys of settings that may be written as a mapping: `auth: { users: FILE }` is `auth-users: FILE`. */
export const SETTING_GROUPS = ["auth"] as const;

/** Reads our own configuration file; `settingNames` are the settings that it may contain. */
export function readOwnConfig(node: ConfigMap, settingNames: readonly string[], source: ConfigSource): OwnConfig {
  const known = [MODELS_KEY, ...SETTING_GROUPS, ...settingNames];
  const settings: ConfigEntry[] = [];
  let models: ConfigNode | undefined;
  for (const entry of withoutGroups(node, settingNames, source)) {
    if (entry.key === MODELS_KEY) models = entry.value;
    else if (settingNames.includes(entry.key)) settings.push(entry);
    // The schema's place, for editors.
    else if (entry.key !== "$schema") {
      const hint = didYouMean(entry.key, known);
      source.findings.error(
        entry.place,
        `There is no setting "${entry.key}".${hint} Expected ${MODELS_KEY}, or a flag's name without dashes before it, such as http-port.`,
      );
    }
  }
  return { settings, models: models === undefined ? [] : readModels(models, source) };
}

/** The entries of the file, with each entry of a group under its own name. */
function withoutGroups({ entries }: ConfigMap, settingNames: readonly string[], source: ConfigSource): ConfigEntry[] {
  const flat = entries.flatMap((entry) =>
    SETTING_GROUPS.some((group) => group === entry.key) ? membersOf(entry, settingNames, source) : [entry],
  );
  const seen = new Set<string>();
  for (const { key, place } of flat) {
    if (seen.has(key)) source.findings.error(place, `"${key}" is given a second time; it takes one value.`);
    seen.add(key);
  }
  return flat;
}

function membersOf({ key: group, value }: ConfigEntry, settingNames: readonly string[], source: ConfigSource) {
  const prefix = `${group}-`;
  const known = settingNames.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  if (value.kind !== "map") {
    source.findings.error(value.place, `"${group}" is not a mapping; expected keys with values: ${known.join(", ")}.`);
    return [];
  }
  return value.entries.flatMap((entry) => {
    if (known.includes(entry.key)) return [{ ...entry, key: prefix + entry.key }];
    const hint = didYouMean(entry.key, known);
    source.findings.error(
      entry.place,
      `"${group}" has no key "${entry.key}".${hint} Expected some of ${known.join(", ")}.`,
    );
    return [];
  });
}

function readModels(node: ConfigNode, source: ConfigSource): ModelConfig[] {
  const table = { models: { type: "group", fields: MODEL_FIELDS, repeated: true } } as const;
  const wrapped = {
    kind: "map",
    place: node.place,
    entries: [{ key: MODELS_KEY, place: node.place, value: node }],
  } as const;
  const fields = readFields(wrapped, table, { ...source, whose: "The file" });
  return (fields?.models ?? []).flatMap((model) => toModelConfig(model, node, source) ?? []);
}

type Fields = FieldValues<typeof MODEL_FIELDS>;

function toModelConfig(fields: Fields, { place }: ConfigNode, source: ConfigSource): ModelConfig | undefined {
  const { name, path, driver, stages, hooks, options, batching, images, versions, labels, warmup, ...others } = fields;
  const { "max-queue": maxQueue, "max-queue-bytes": maxQueueBytes, "idle-unload": idleUnload, ...less } = others;
  const { split, sticky, shadow, "request-log": requestLog, ...rest } = less;
  const given = { split: split && Object.fromEntries(split), sticky, shadow };
  const traffic = toTraffic(given);
  const problem = problemOf(fields) ?? stages?.map(stageProblem).find(isProblem) ?? problemIn(name, given);
  if (problem !== undefined) {
    source.findings.error(place, problem);
    return undefined;
  }
  const refusal = path === undefined ? undefined : remotePathRefusal(path);
  return modelConfig({
    name,
    options: { ...options, ...batching, ...images },
    ...rest,
    ...(path !== undefined && { path: refusal === undefined ? pathIn(source, path) : path }),
    ...(driver !== undefined && { driver: driverIn(source, driver) }),
    ...(stages !== undefined && { stages: stages.map((stage) => toStage(stage, path !== undefined, source)) }),
    ...(hooks !== undefined && { hooks: pathIn(source, hooks) }),
    ...(versions !== undefined && { versions }),
    ...(labels !== undefined && { labels }),
    ...(warmup !== undefined && { warmUp: toWarmUpEntries(warmup, (file) => pathIn(source, file)) }),
    ...(traffic !== undefined && { traffic }),
    ...(requestLog !== undefined && { requestLog: toRequestLog(requestLog, source) }),
    ...(maxQueue !== undefined && { maxQueue }),
    ...(maxQueueBytes !== undefined && { maxQueueBytes }),
    ...(idleUnload !== undefined && { idleUnloadMs: idleUnload * 1000 }),
    ...(refusal !== undefined && { refusal }),
  });
}

function isProblem(text: string | undefined): text is string {
  return text !== undefined;
}

function problemIn(name: string, traffic: GivenTraffic): string | undefined {
  const problem = trafficProblem(traffic);
  return problem && `The model "${name}": ${problem}.`;
}

function problemOf({ name, path, driver, stages }: Fields): string | undefined {
  if (stages === undefined && path === undefined && driver === undefined)
    return `The model "${name}" has neither path, driver nor stages; expected one of them.`;
  if (stages === undefined) return undefined;
  if (stages.length === 0) return `The model "${name}" has no stage; expected at least one under stages.`;
  return driver === undefined
    ? undefined
    : `The model "${name}" has both driver and stages; give each stage its driver.`;
}

function stageProblem({ model, ...others }: Stage, index: number): string | undefined {
  const [other] = Object.keys(others);
  if (model === undefined || other === undefined) return undefined;
  return `Stage ${index + 1} has the model "${model}" and a key "${other}"; expected another model's name alone.`;
}

type Stage = NonNullable<Fields["stages"]>[number];

function toStage(stage: Stage, isVersioned: boolean, source: ConfigSource) {
  const { path, driver } = stage;
  return {
    ...stage,
    ...(path !== undefined && { path: isVersioned ? path : pathIn(source, path) }),
    ...(driver !== undefined && { driver: driverIn(source, driver) }),
  };
}

function toRequestLog({ prefix, "max-size": maxBytes, ...others }: RequestLog, source: ConfigSource) {
  const path = prefix && { prefix: prefixPath(prefix, (one) => pathIn(source, one)) };
  return { ...others, ...path, ...(maxBytes !== undefined && { maxBytes }) };
}

type RequestLog = NonNullable<Fields["request-log"]>;

/** A name, or the path of a driver file. */
function driverIn(source: ConfigSource, driver: string): string {
  return /[/\\]/.test(driver) ? pathIn(source, driver) : driver;
}
