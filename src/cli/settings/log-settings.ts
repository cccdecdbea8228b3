import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { LOG_LEVELS } from "../../observability/log-level.ts";
import { BOTH, type Setting } from "./setting.ts";

/** Settings of the log. */
export const LOG_SETTINGS = {
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    placeholder: "LEVEL",
    default: "info",
    alsoEnv: "LOG_LEVEL",
    help: "lowest level that is logged",
    commands: BOTH,
  },
  logFormat: {
    type: "choice",
    choices: ["auto", "text", "json"],
    placeholder: "FORMAT",
    default: "auto",
    help: "form of the log",
    details: "`auto` is text at a terminal and JSON elsewhere.",
    commands: BOTH,
  },
  logPath: {
    type: "text",
    placeholder: "FILE",
    alsoEnv: "LOG_PATH",
    isPath: true,
    help: "file to append the log to, as JSON lines",
    details: "Standard output has the log too.",
    commands: BOTH,
  },
  accessLog: {
    type: "boolean",
    default: SERVER_DEFAULTS.accessLog,
    help: "log each request: model, status, sizes and times",
    details: "The lines have level info; without this flag they have level debug.",
    commands: BOTH,
  },
} as const satisfies Record<string, Setting>;
