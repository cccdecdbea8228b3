import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { SERVE, type Setting } from "./setting.ts";

/** Settings of servers with several models, or versions: their places, and how they are loaded while the server runs. */
export const REPOSITORY_SETTINGS = {
  model: {
    type: "list",
    separator: ",",
    placeholder: "NAME=PATH",
    help: "model: a file, folder or folder of versions; repeatable",
    details: "Its driver is told by the path. Model paths without names are the stages of one pipeline instead.",
    commands: SERVE,
  },
  modelRepository: {
    type: "list",
    separator: ",",
    placeholder: "DIR",
    isPath: true,
    help: "folder of models, files or folders; repeatable",
    details:
      "A model's folder holds its versions (`1`, `2`, ...) or the model itself, and perhaps Triton's config.pbtxt.",
    commands: SERVE,
  },
  config: {
    type: "list",
    separator: ",",
    placeholder: "FILE",
    help: "models and settings, ours or other servers'; repeatable",
    details: "Flags and environment variables count before the settings in it. docs/models.md has its keys.",
    commands: SERVE,
  },
  modelControl: {
    type: "choice",
    choices: ["poll", "none", "explicit"],
    placeholder: "MODE",
    default: "poll",
    help: "what changes while the server runs",
    details:
      "`poll` looks for what comes, changes and goes; `none` looks once, at the start; `explicit` serves what --load-model names, and what clients load.",
    commands: SERVE,
  },
  loadModel: {
    type: "list",
    separator: ",",
    placeholder: "NAME",
    help: "model of --model-control explicit to load; repeatable",
    commands: SERVE,
  },
  pollInterval: {
    type: "seconds",
    isSigned: true,
    placeholder: "SECONDS",
    default: 1,
    help: "time between looks for changes",
    details: "0 looks once, at the start; a negative number not even then, only after SIGHUP.",
    commands: SERVE,
  },
  loadThreads: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.loadThreads,
    help: "models that are loaded at a time",
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
    help: "further tries of a model that does not load",
    details: "A model is also tried again at once when its files change.",
    commands: SERVE,
  },
  loadRetryInterval: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.loadRetryMs / 1000,
    help: "maximum time between such tries",
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
    help: "end the start where a model does not load",
    commands: SERVE,
  },
  allowPendingLabels: {
    type: "boolean",
    default: SERVER_DEFAULTS.allowLabelsForUnavailable,
    help: "let labels point to versions that are not available",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
