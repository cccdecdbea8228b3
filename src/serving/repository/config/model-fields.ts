import { HOST_OPTIONS } from "../../../models/host-options.ts";
import { IMAGE_OPTIONS } from "../../../models/images/image-options.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import { WARM_UP_FIELD } from "../warm-up/warm-up-entry.ts";
import type { FieldKind } from "./field-table.ts";
import type { VersionPolicy } from "./versions.ts";
import { STICKY_FIELD } from "./versions.ts";

const { max_batch_size, batch_timeout_us, allowed_batch_sizes, pad_variable_length_inputs, flexible_batch_size } =
  HOST_OPTIONS;
const BATCHING_OPTIONS = {
  max_batch_size,
  batch_timeout_us,
  allowed_batch_sizes,
  pad_variable_length_inputs,
  flexible_batch_size,
};

const VERSION_POLICY = {
  type: "custom",
  expected: "all, latest, { latest: COUNT } or a list of versions such as [1, 3]",
  read: readPolicy,
  schema: {
    anyOf: [
      { enum: ["all", "latest"] },
      { type: "array", items: { type: "integer", minimum: 0 } },
      {
        type: "object",
        properties: { latest: { type: "integer", minimum: 1 } },
        required: ["latest"],
        additionalProperties: false,
      },
    ],
  },
} as const satisfies FieldKind;

const STAGE_FIELDS = {
  model: { type: "text", help: "the name of another model of this server, in place of the other keys" },
  driver: {
    type: "text",
    help: "its runtime, or a path to a driver of your own (./my-driver.ts)",
    default: "determined by the path",
  },
  path: { type: "text", help: "its file or folder; relative to the version's folder where the model has a path" },
  options: { type: "options", help: "options for this stage's driver alone" },
} as const;

const SHADOW_FIELDS = {
  version: { type: "version", help: "the version that gets the copies" },
  model: { type: "text", help: "the model that gets them, in place of a version" },
  share: { type: "number", min: 0, help: "the part of the requests that is copied, up to 1", default: "1" },
} as const;

const REQUEST_LOG_FIELDS = {
  prefix: { type: "text", help: "beginning of the files' paths", default: "--request-log" },
  rate: {
    type: "number",
    min: 0,
    max: 1,
    help: "the part of its requests that is recorded",
    default: "--request-log-rate",
  },
  "max-size": {
    type: "integer",
    min: 1,
    help: "size at which a file ends, in bytes",
    default: "--request-log-max-size",
  },
  files: { type: "integer", min: 1, help: "number of files that are kept", default: "--request-log-files" },
} as const;

/** Keys of one model under `models:` in our own configuration file. */
export const MODEL_FIELDS = {
  name: { type: "text", required: true, help: "the name under which clients find the model" },
  path: {
    type: "text",
    help: "a model's file, a folder with the model in it, or a folder of versions (1, 2, ...); relative to the configuration file",
  },
  driver: {
    type: "text",
    help: "its runtime, or a path to a driver of your own (./my-driver.ts)",
    default: "determined by the path",
  },
  stages: {
    type: "group",
    fields: STAGE_FIELDS,
    repeated: true,
    help: "the stages of a pipeline, in order, in place of driver, or of path too",
  },
  hooks: {
    type: "text",
    help: "TypeScript, JavaScript or Python file with hooks; a version's folder may have its own, called hooks.ts, hooks.js, hooks.mjs or hooks.py",
  },
  options: { type: "options", help: "what -o takes: options for all drivers and the hooks" },
  batching: { type: "options", table: BATCHING_OPTIONS, help: "the options of batching, apart from the others" },
  images: { type: "options", table: IMAGE_OPTIONS, help: "the options of image inputs, apart from the others" },
  versions: { ...VERSION_POLICY, help: "which versions are served", default: "latest" },
  labels: { type: "map", values: { type: "version" }, help: "versions by label" },
  warmup: {
    ...WARM_UP_FIELD,
    help: "requests to run before a version is available: random values, request files (JSON of V2 or TensorFlow Serving), request logs, each with a count perhaps",
  },
  "request-log": {
    type: "group",
    fields: REQUEST_LOG_FIELDS,
    help: "where its requests and answers are recorded, and how many: prefix, rate, max-size, files",
    default: "--request-log",
  },
  split: {
    type: "map",
    values: { type: "number", min: 0 },
    help: "weights of versions, or of models by their names, between which requests are split that name no version",
  },
  sticky: {
    ...STICKY_FIELD,
    help: "header (or gRPC metadata) whose value decides where split sends a request; or { inputs: all }, { inputs: [NAME] }",
  },
  shadow: {
    type: "group",
    fields: SHADOW_FIELDS,
    help: "a version or model that gets a copy of the requests that name no version; its answers are thrown away",
  },
  workers: { type: "integer", min: 0, help: "threads that run the hook file", default: "--workers" },
  instances: { type: "integer", min: 1, help: "copies of each stage", default: "--instances" },
  isolate: {
    type: "boolean",
    help: "run each copy in a process of its own, so that a crash costs its requests alone",
    default: "--isolate",
  },
  threads: { type: "integer", min: 1, help: "threads that each copy's runtime may use", default: "--threads" },
  "max-queue": { type: "integer", min: 1, help: "maximum number of its requests at a time", default: "--max-queue" },
  "max-queue-bytes": {
    type: "integer",
    min: 1,
    help: "maximum memory of its requests together, in bytes",
    default: "--max-queue-bytes",
  },
  "idle-unload": {
    type: "number",
    min: 0,
    help: "unload it when it is idle for so many seconds, until the next request; 0 disables",
    default: "--idle-unload",
  },
} as const;

function readPolicy(node: ConfigNode): VersionPolicy | undefined {
  if (node.kind === "scalar") {
    if (node.text === "all") return { kind: "all" };
    return node.text === "latest" ? { kind: "latest", count: 1 } : undefined;
  }
  if (node.kind === "list") {
    const versions = node.items.map(integerOf);
    return versions.every((version) => version !== undefined) ? { kind: "specific", versions } : undefined;
  }
  const [entry, ...rest] = node.entries;
  const count = entry?.key === "latest" && rest.length === 0 ? integerOf(entry.value) : undefined;
  return count === undefined || count < 1n || count > BigInt(Number.MAX_SAFE_INTEGER)
    ? undefined
    : { kind: "latest", count: Number(count) };
}

function integerOf(node: ConfigNode): bigint | undefined {
  const isVersion = node.kind === "scalar" && typeof node.value === "bigint" && node.value >= 0n;
  return isVersion ? (node.value as bigint) : undefined;
}
