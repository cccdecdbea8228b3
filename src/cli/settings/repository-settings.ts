import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { ARCHIVE_HOOKS } from "../../repository/archive-hooks.ts";
import { SERVE, type Setting } from "./setting.ts";

/**
 * Settings of servers with several models, or versions: their places, and how they are loaded while the server runs.
 */
export const REPOSITORY_SETTINGS = {
  model: {
    type: "list",
    separator: ",",
    placeholder: "NAME=PATH",
    help: "model: a file, folder or folder of versions; repeatable",
    details:
      "The path determines its driver. Paths of --model-path, without names, are the stages of one pipeline instead.",
    commands: SERVE,
  },
  modelRepository: {
    type: "list",
    separator: ",",
    placeholder: "DIR",
    isPath: true,
    help: "folder of models, files or folders; repeatable",
    details:
      "A model's folder contains its versions (`1`, `2`, ...) or the model itself, and may contain Triton's config.pbtxt.",
    commands: SERVE,
  },
  config: {
    type: "list",
    separator: ",",
    placeholder: "FILE",
    isPath: true,
    help: "models and settings, ours or other servers'; repeatable",
    details: "Flags and environment variables override the settings in it. docs/models.md has its keys.",
    commands: SERVE,
  },
  modelControl: {
    type: "choice",
    choices: ["poll", "none", "explicit"],
    placeholder: "MODE",
    default: "poll",
    help: "changes of the served models",
    details:
      "`poll` checks for added, changed and removed models at intervals; `none` only at the start; `explicit` serves the models of --load-model, and those that clients load: clients of this machine, unless --allow-control allows others.",
    commands: SERVE,
  },
  loadModel: {
    type: "list",
    separator: ",",
    placeholder: "NAME",
    help: "model of --model-control explicit to load, or * for all; repeatable",
    commands: SERVE,
  },
  pollInterval: {
    type: "seconds",
    isSigned: true,
    placeholder: "SECONDS",
    default: 1,
    help: "time between checks for changes",
    details: "0 checks only at the start; a negative number only after SIGHUP.",
    commands: SERVE,
  },
  loadThreads: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.loadThreads,
    help: "maximum number of loads at a time",
    commands: SERVE,
  },
  loadTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.loadTimeoutMs / 1000,
    help: "maximum time of one load; 0 disables",
    commands: SERVE,
  },
  loadRetries: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.loadRetries,
    help: "further attempts to load a model after a failure",
    details: "A model is also loaded again at once when its files change.",
    commands: SERVE,
  },
  loadRetryInterval: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.loadRetryMs / 1000,
    help: "maximum time between these attempts",
    commands: SERVE,
  },
  idleUnload: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.idleUnloadMs / 1000,
    help: "unload models that are idle for so long; 0 disables",
    details: "Such a model stays available, and the next request loads it again.",
    commands: SERVE,
  },
  modelMemory: {
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.modelMemoryBytes,
    help: "maximum memory of the loaded models, as 8GB; 0 disables",
    details:
      "Idle models are unloaded for others, the least recently used first, and loaded again by the next request. docs/models.md describes how their sizes are determined.",
    commands: SERVE,
  },
  memoryCheck: {
    type: "boolean",
    default: SERVER_DEFAULTS.memoryCheck,
    help: "refuse to load models that exceed the free memory",
    commands: SERVE,
  },
  modelCache: {
    type: "text",
    placeholder: "DIR",
    isPath: true,
    help: "folder for downloaded models",
    details:
      "By default `kserving/models` in the user's folder for caches. docs/storage.md has the addresses that are read.",
    commands: SERVE,
  },
  modelCacheSize: {
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.modelCacheBytes,
    help: "maximum size of that folder, as 50GB; 0 disables",
    details: "The models that were used least recently make room for others; those that are served stay.",
    commands: SERVE,
  },
  archiveHooks: {
    type: "choice",
    choices: ARCHIVE_HOOKS,
    placeholder: "WHOSE",
    default: SERVER_DEFAULTS.archiveHooks,
    help: "run the hook files of downloaded models",
    details:
      "`own` = of addresses that the settings name, and not of those that clients name; `on` = all, `off` = none.",
    commands: SERVE,
  },
  storagePollInterval: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.storagePollMs / 1000,
    help: "time between checks of the same remote address; 0 disables",
    details: "In addition to --poll-interval, since each check of a bucket is a request.",
    commands: SERVE,
  },
  strictReadiness: {
    type: "boolean",
    default: SERVER_DEFAULTS.strictReadiness,
    help: "ready only while every model is available",
    commands: SERVE,
  },
  failFast: {
    type: "boolean",
    default: SERVER_DEFAULTS.failFast,
    help: "fail the start if any model does not load",
    commands: SERVE,
  },
  allowPendingLabels: {
    type: "boolean",
    default: SERVER_DEFAULTS.allowLabelsForUnavailable,
    help: "let labels point to versions that are not available",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
