import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { SERVE, type Setting } from "./setting.ts";

/** Settings of the hook file and its threads. */
export const HOOK_SETTINGS = {
  hooks: {
    type: "text",
    placeholder: "FILE",
    isPath: true,
    help: "TypeScript, JavaScript or Python file with hooks",
    commands: SERVE,
  },
  workers: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.workers,
    help: "hook threads; 0 runs hooks in the main thread",
    details: "The main thread is meant for debugging.",
    commands: SERVE,
  },
  watch: {
    type: "boolean",
    default: false,
    help: "reload the hooks when their files change",
    details: "The hook file and the files that it imports are watched. SIGHUP reloads them too.",
    commands: SERVE,
  },
  hookTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.hookTimeoutMs / 1000,
    help: "maximum time of one hook; 0 disables",
    details:
      "A hook whose promise is pending for longer fails its request. Loading the file and `init_hook` may take ten times as long.",
    commands: SERVE,
  },
  hookStall: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.hookStallMs / 1000,
    help: "replace hook threads that hang for so long; 0 disables",
    commands: SERVE,
  },
  hookMemory: {
    type: "count",
    min: 16,
    placeholder: "MEGABYTES",
    default: SERVER_DEFAULTS.hookMemoryMb,
    help: "maximum heap of a hook thread, in megabytes",
    details: "Buffers may take as much again. A thread that needs more is replaced.",
    commands: SERVE,
  },
  hookEnv: {
    type: "list",
    separator: ",",
    isSplit: true,
    placeholder: "NAME",
    help: "variables with secrets that hooks get although the server reads them",
    details: "Separated by commas; repeatable. docs/security.md lists those that hooks do not get.",
    commands: SERVE,
  },
  inspectHooks: {
    type: "boolean",
    default: SERVER_DEFAULTS.inspectHooks,
    help: "let debuggers on this machine attach to hook threads",
    details: "Each thread listens at the first free port from 9229 on.",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
