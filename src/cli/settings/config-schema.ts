import type { Setting } from "../../platform/limits/settings/setting.ts";
import { type JsonSchema, schemaOfFields } from "../../serving/repository/config/field-table.ts";
import { MODEL_FIELDS } from "../../serving/repository/config/model-fields.ts";
import { SETTING_GROUPS } from "../../serving/repository/formats/kserving.ts";
import { FILE_SETTINGS } from "./read-file-settings.ts";
import { SETTINGS, writtenValue } from "./settings.ts";

/** The JSON Schema of our configuration file, made from the tables of settings and of a model's keys. */
export function configSchema(): JsonSchema {
  const settings = Array.from(FILE_SETTINGS, ([key, name]) => [key, schemaOfSetting(SETTINGS[name])] as const);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of kserving",
    type: "object",
    properties: {
      $schema: { type: "string" },
      ...Object.fromEntries(settings),
      ...Object.fromEntries(SETTING_GROUPS.map((group) => [group, schemaOfGroup(group, settings)])),
      models: { description: "named models", type: "array", items: schemaOfFields(MODEL_FIELDS) },
    },
    additionalProperties: false,
  };
}

type NamedSchema = readonly [name: string, schema: JsonSchema];

/** Settings that may be written as a mapping, by their names without the group's. */
function schemaOfGroup(group: string, settings: readonly NamedSchema[]): JsonSchema {
  const members = settings.filter(([name]) => name.startsWith(`${group}-`));
  return {
    description: `the settings ${group}-…, as keys without ${group}-`,
    type: "object",
    properties: Object.fromEntries(members.map(([name, schema]) => [name.slice(group.length + 1), schema])),
    additionalProperties: false,
  };
}

function schemaOfSetting(setting: Setting): JsonSchema {
  const { help, default: fallback } = setting as Setting & { readonly default?: unknown };
  return {
    description: help,
    ...typeOf(setting),
    ...(fallback !== undefined && { default: writtenValue(setting, fallback) }),
  };
}

function typeOf(setting: Setting): JsonSchema {
  switch (setting.type) {
    case "boolean":
      return { type: "boolean" };
    case "choice":
      return { enum: setting.bare === undefined ? setting.choices : [...setting.choices, true, false] };
    case "port":
      return { type: "integer", minimum: 0, maximum: 65535 };
    case "count":
      return { type: "integer", minimum: setting.min };
    case "seconds":
      return { type: "number", ...(setting.isSigned ? {} : { minimum: 0 }) };
    case "share":
      return { type: "number", minimum: 0, maximum: 1 };
    case "bytes":
      return { type: ["integer", "string"] };
    case "list":
      return { type: ["string", "array"], items: { type: "string" } };
    default:
      return { type: "string" };
  }
}
