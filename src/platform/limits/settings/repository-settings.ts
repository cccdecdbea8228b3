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
  pollIntervalMs: {
    type: "seconds",
    isSigned: true,
    placeholder: "SECONDS",
    default: 1_000,
    help: "time between checks for changes",
    details: "0 checks only at the start; a negative number only after SIGHUP.",
    commands: SERVE,
  },
  /** Models that load at once, at most. Default 4. */
  loadThreads: {
    slice: "loading",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: 4,
    help: "maximum number of loads at a time",
    commands: SERVE,
  },
  /** Milliseconds that a model may take to load before it is given up; 0 = no limit. Default 10 minutes. */
  loadTimeoutMs: {
    slice: "loading",
    type: "seconds",
    placeholder: "SECONDS",
    /** Above the time in which a large model is compiled for its device. */
    default: 600_000,
    help: "maximum time of one load; 0 disables",
    commands: SERVE,
  },
  /** Further tries if a model cannot be loaded. Default 5. */
  loadRetries: {
    slice: "loading",
    type: "count",
    min: 0,
    placeholder: "COUNT",
    /** TensorFlow Serving's default. */
    default: 5,
    help: "further attempts to load a model after a failure",
    details: "A model is also loaded again at once when its files change.",
    commands: SERVE,
  },
  /** The longest wait before a further try; the first is a second, each is twice the one before. Default 60 s. */
  loadRetryMs: {
    slice: "loading",
    flag: "load-retry-interval",
    type: "seconds",
    placeholder: "SECONDS",
    /** TensorFlow Serving's default. */
    default: 60_000,
    help: "maximum time between these attempts",
    commands: SERVE,
  },
  /**
   * Milliseconds without a request after which a version gives its threads and memory back, until the next request
   * loads it again; 0 = never. Default 0.
   */
  idleUnloadMs: {
    slice: "loading",
    type: "seconds",
    placeholder: "SECONDS",
    default: 0,
    help: "unload models that are idle for so long; 0 disables",
    details: "Such a model stays available, and the next request loads it again.",
    commands: SERVE,
  },
  /**
   * Bytes that all loaded models may take together: idle ones are unloaded for others, the least recently used first,
   * until the next request; 0 = no limit. Default 0.
   */
  modelMemoryBytes: {
    slice: "loading",
    flag: "model-memory",
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    default: 0,
    help: "maximum memory of the loaded models, as 8GB; 0 disables",
    details:
      "Idle models are unloaded for others, the least recently used first, and loaded again by the next request. docs/models.md describes how their sizes are determined.",
    commands: SERVE,
  },
  /**
   * Refuses to load models whose files do not fit into the free memory of the machine or its container. Default true.
   */
  memoryCheck: {
    slice: "loading",
    type: "boolean",
    default: true,
    help: "refuse to load models that exceed the free memory",
    commands: SERVE,
  },
  /** Folder for models that are downloaded. Default: `kserving/models` in the user's folder for caches. */
  modelCache: {
    slice: "storage",
    type: "text",
    placeholder: "DIR",
    isPath: true,
    help: "folder for downloaded models",
    details:
      "By default `kserving/models` in the user's folder for caches. docs/storage.md has the addresses that are read.",
    commands: SERVE,
  },
  /** Bytes of that folder at most: the models that were used least recently make room; 0 = no limit. Default 20 GB. */
  modelCacheBytes: {
    slice: "storage",
    flag: "model-cache-size",
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    /** Some models of a usual size, on a disk of a usual one. */
    default: 20 * 1024 ** 3,
    help: "maximum size of that folder, as 50GB; 0 disables",
    details: "The models that were used least recently make room for others; those that are served stay.",
    commands: SERVE,
  },
  /**
   * Runs hook files that downloaded models have: `own` = those at addresses that this program names, and none at those
   * that clients name; `on` and `off` = all and none. Default `own`.
   */
  archiveHooks: {
    slice: "models",
    type: "choice",
    choices: ["own", "on", "off"],
    placeholder: "WHOSE",
    default: "own",
    help: "run the hook files of downloaded models",
    details:
      "`own` = of addresses that the settings name, and not of those that clients name; `on` = all, `off` = none.",
    commands: SERVE,
  },
  /** Milliseconds between two looks at the same address of another server; 0 = only on request. Default 30 s. */
  storagePollMs: {
    slice: "storage",
    flag: "storage-poll-interval",
    type: "seconds",
    placeholder: "SECONDS",
    /** Storage providers charge for each list. */
    default: 30_000,
    help: "time between checks of a remote address; 0 disables",
    details: "In addition to --poll-interval, since each check of a bucket is a request.",
    commands: SERVE,
  },
  /** Says that it is ready only when every version that should be served is available. Default false. */
  strictReadiness: {
    slice: "loading",
    type: "boolean",
    default: false,
    help: "ready only while every model is available",
    commands: SERVE,
  },
  /** Fails the start if any model cannot be loaded; else it fails if none can. Default false. */
  failFast: {
    slice: "loading",
    type: "boolean",
    default: false,
    help: "fail the start if any model does not load",
    commands: SERVE,
  },
  /** Lets a label point to a version that is not available. Default false. */
  allowLabelsForUnavailable: {
    slice: "loading",
    flag: "allow-pending-labels",
    type: "boolean",
    default: false,
    help: "let labels point to versions that are not available",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
