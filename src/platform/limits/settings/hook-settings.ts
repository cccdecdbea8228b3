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
  /** Threads that run the hook file; 0 = hooks run in the main thread. Default 1. */
  workers: {
    slice: "hooks",
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: 1,
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
  /** Time after which a hook's pending promise fails its request; 0 = never. Default 60 s. */
  hookTimeoutMs: {
    slice: "hooks",
    type: "seconds",
    placeholder: "SECONDS",
    default: 60_000,
    help: "maximum time of one hook; 0 disables",
    details:
      "A hook whose promise is pending for longer fails its request. Loading the file and `init_hook` may take ten times as long.",
    commands: SERVE,
  },
  /** Time after which a hook thread whose event loop hangs is replaced; 0 = never. Default 10 s. */
  hookStallMs: {
    slice: "hooks",
    type: "seconds",
    placeholder: "SECONDS",
    default: 10_000,
    help: "replace hook threads that hang for so long; 0 disables",
    commands: SERVE,
  },
  /**
   * Memory that a hook thread may hold in its JavaScript heap, and as much again in buffers, in megabytes. Default
   * 2048.
   */
  hookMemoryMb: {
    slice: "hooks",
    flag: "hook-memory",
    type: "count",
    min: 16,
    unit: ", in megabytes",
    placeholder: "MEGABYTES",
    default: 2048,
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
  /** Lets a debugger attach to the hook threads. Default false. */
  inspectHooks: {
    slice: "hooks",
    type: "boolean",
    default: false,
    help: "let debuggers on this machine attach to hook threads",
    details: "Each thread listens at the first free port from 9229 on.",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
