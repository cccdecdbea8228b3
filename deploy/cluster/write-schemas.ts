import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { goModule } from "./go-module.ts";

/** JSON schema, as far as it is changed here. */
type Schema = { [key: string]: unknown };
/** Kind of an object with its group and version. */
interface ObjectKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * Writes the schemas of a version of Kubernetes for kubeconform, a file for each kind, from the description of its API
 * in its Go module; properties that it does not have are refused. Returns the folder. Needs Go.
 */
export function writeKubernetesSchemas(version: string, cache: string): string {
  const folder = join(cache, `kubernetes-${version}`);
  if (existsSync(folder)) return folder;
  const making = begin(folder);
  const swagger = join(goModule(`k8s.io/kubernetes@v${version}`, cache).Dir, "api/openapi-spec/swagger.json");
  const { definitions } = JSON.parse(readFileSync(swagger, "utf8")) as { definitions: Record<string, Schema> };
  writeFileSync(join(making, "_definitions.json"), JSON.stringify({ definitions: closeAll(definitions) }));
  for (const [name, schema] of Object.entries(definitions)) {
    const kinds = (schema["x-kubernetes-group-version-kind"] ?? []) as readonly ObjectKind[];
    for (const kind of kinds.length === 1 ? kinds : [])
      writeFileSync(join(making, fileOf(kind)), JSON.stringify({ $ref: `_definitions.json#/definitions/${name}` }));
  }
  renameSync(making, folder);
  return folder;
}

/** Writes the schemas of KServe's objects from the definitions in its Go module. Returns the folder. Needs Go. */
export function writeKserveSchemas(version: string, cache: string): string {
  const folder = join(cache, `kserve-${version}`);
  if (existsSync(folder)) return folder;
  const making = begin(folder);
  const definitions = join(goModule(`github.com/kserve/kserve@v${version}`, cache).Dir, "config/crd/full");
  for (const plural of ["clusterservingruntimes", "servingruntimes", "inferenceservices"]) {
    const { spec } = parse(readFileSync(join(definitions, `serving.kserve.io_${plural}.yaml`), "utf8"));
    for (const { name, schema } of spec.versions) {
      const kind = { group: spec.group, version: name, kind: spec.names.kind };
      const closed = close(schema.openAPIV3Schema);
      writeFileSync(join(making, fileOf(kind)), JSON.stringify({ ...closed, additionalProperties: true }));
    }
  }
  renameSync(making, folder);
  return folder;
}

function begin(folder: string): string {
  const making = `${folder}.making`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  return making;
}

function fileOf({ group, version, kind }: ObjectKind): string {
  const words = [kind, ...(group === "" ? [] : [group.split(".")[0] as string]), version];
  return `${words.join("-").toLowerCase()}.json`;
}

/** Refuses properties that an object does not have, and takes numbers where Kubernetes does. */
function close(schema: Schema): Schema {
  if (schema.format === "int-or-string" || "x-kubernetes-int-or-string" in schema)
    return { type: ["integer", "string"] };
  if (/^Quantity is/.test(String(schema.description))) return { type: ["number", "string"] };
  const { $ref, type, required, enum: values, items, properties, additionalProperties } = schema;
  const isOpen = properties === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true;
  return {
    ...($ref === undefined ? {} : { $ref }),
    ...{ type, required, enum: values },
    ...(items === undefined ? {} : { items: close(items as Schema) }),
    ...(properties === undefined ? {} : { properties: closeAll(properties as Record<string, Schema>) }),
    ...(isObject(additionalProperties) ? { additionalProperties: close(additionalProperties) } : {}),
    ...(isOpen || isObject(additionalProperties) ? {} : { additionalProperties: false }),
  };
}

function closeAll(schemas: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, close(schema)]));
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null;
}
