import { CONTROL_ACCESS } from "../../access/control-access.ts";
import { DRIVER_NAMES } from "../../drivers/registry.ts";
import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { LOG_LEVELS } from "../../observability/log-level.ts";
import type { SettingsCommand } from "../command-names.ts";

/** One setting: how its text is read, what it is when left out, what it means and who takes it. */
export type Setting = {
  /** What it does, without its default. */
  readonly help: string;
  readonly commands: readonly SettingsCommand[];
  /** Its value in help texts; absent for booleans. */
  readonly placeholder?: string;
  readonly short?: string;
  /** A second environment variable, asked after the `KSERVING_` one. */
  readonly alsoEnv?: string;
} & (
  | { readonly type: "text"; readonly default?: string }
  /** A program with its arguments. */
  | { readonly type: "command"; readonly default?: undefined }
  /** `host`: a name or an IP address. `address`: a host with a port. */
  | { readonly type: "host" | "address"; readonly default: string }
  /** `onWith`: a setting that switches this one on where it is given and this one is not. */
  | { readonly type: "boolean"; readonly default: boolean; readonly onWith?: string }
  /** `bare`: the choice that the flag alone, or a true, stands for; a false stands for the default. */
  | { readonly type: "choice"; readonly choices: readonly string[]; readonly default: string; readonly bare?: string }
  /** `port`: 0 to 65535. `bytes`: with an optional unit. `seconds`: may have decimals. `count`: an integer from `min` on. */
  | { readonly type: "port" | "bytes" | "seconds"; readonly default: number }
  | { readonly type: "count"; readonly min: number; readonly default?: number }
  /** A flag that may be repeated; the separator is what stands between entries in the environment variable. */
  | { readonly type: "list"; readonly separator: "," | ";" }
);

const BOTH = ["serve", "proxy"] as const;
const SERVE = ["serve"] as const;
const PROXY = ["proxy"] as const;

/**
 * Every setting of the command line. The key in kebab-case is the flag, in upper case behind `KSERVING_` the environment variable;
 * parsing, help and docs/configuration.md follow from this one table.
 */
export const SETTINGS = {
  driver: {
    type: "list",
    separator: ",",
    placeholder: "NAME",
    help: `runtime of a model: ${DRIVER_NAMES.join(", ")} or a path to a driver of your own (./my-driver.ts); repeatable, the n-th driver takes the n-th model path; may be left out where the path's ending tells`,
    commands: SERVE,
  },
  modelPath: {
    type: "list",
    separator: ",",
    placeholder: "PATH",
    help: "model file or folder; repeatable, each is one stage of the pipeline; the null driver needs none",
    commands: SERVE,
  },
  option: {
    type: "list",
    separator: ";",
    short: "-o",
    placeholder: "[STAGE:]KEY=VALUE",
    help: "option for all drivers and the hooks, with STAGE (from 1) for that one stage's driver alone; repeatable",
    commands: SERVE,
  },
  hooks: { type: "text", placeholder: "FILE", help: "TypeScript or JavaScript file with hooks", commands: SERVE },
  name: {
    type: "text",
    placeholder: "NAME",
    default: SERVER_DEFAULTS.name,
    help: "name under which clients find the model",
    commands: SERVE,
  },
  grpcAddress: {
    type: "address",
    placeholder: "HOST:PORT",
    default: "127.0.0.1:9000",
    help: "gRPC server that answers the requests",
    commands: PROXY,
  },
  host: {
    type: "host",
    placeholder: "HOST",
    default: "0.0.0.0",
    help: "address to listen on, for gRPC and HTTP alike",
    commands: BOTH,
  },
  port: { type: "port", placeholder: "PORT", default: 9000, help: "gRPC port; 0 picks a free one", commands: SERVE },
  httpEnable: {
    type: "boolean",
    default: false,
    onWith: "httpPort",
    help: "serve HTTP too, as naming an --http-port does",
    commands: SERVE,
  },
  httpPort: { type: "port", placeholder: "PORT", default: 9001, help: "HTTP port; 0 picks a free one", commands: BOTH },
  httpServerCommand: {
    type: "command",
    placeholder: "COMMAND",
    help: "run this program as the HTTP server instead of the built-in one; {grpc_address}, {grpc_port} and {http_port} in it are filled in",
    commands: SERVE,
  },
  allowProxyHeaders: {
    type: "boolean",
    default: false,
    help: "let clients choose the gRPC server with the headers Proxy-Addr and Proxy-Port; they can then reach whatever this machine reaches",
    commands: PROXY,
  },
  versionEncoding: {
    type: "choice",
    choices: ["int32", "int64"],
    placeholder: "TYPE",
    default: "int32",
    help: "how a model version is sent: int32 as servers of the original tool read it, int64 as TensorFlow Serving and kserving do",
    commands: PROXY,
  },
  maxMessageBytes: {
    type: "bytes",
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.maxMessageBytes,
    help: "largest message or body taken, for example 64MB or 1GiB",
    commands: BOTH,
  },
  tensorContent: {
    type: "boolean",
    default: SERVER_DEFAULTS.tensorContent,
    help: "answer TensorFlow Serving clients with raw tensor_content instead of typed fields",
    commands: SERVE,
  },
  allowControl: {
    type: "choice",
    choices: CONTROL_ACCESS,
    bare: "all",
    placeholder: "[CLIENTS]",
    default: SERVER_DEFAULTS.allowControl,
    help: "clients that may load and unload the model, and change what is logged: none, programs on this machine, or all, which is meant where none are named",
    commands: BOTH,
  },
  corsOrigin: {
    type: "list",
    separator: ",",
    placeholder: "ORIGIN",
    help: "origin whose web pages may run models, such as https://app.example.com, or * for all; repeatable",
    commands: BOTH,
  },
  workers: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.workers,
    help: "threads that run the hook file; 0 runs hooks in the main thread, for debugging",
    commands: SERVE,
  },
  hookTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.hookTimeoutMs / 1000,
    help: "after which a hook's pending promise fails its request, and ten times as long after which loading the file or init_hook fails the start; 0 = never",
    commands: SERVE,
  },
  hookStall: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.hookStallMs / 1000,
    help: "after which a hook thread that does not return is replaced; 0 = never",
    commands: SERVE,
  },
  hookMemory: {
    type: "count",
    min: 16,
    placeholder: "MEGABYTES",
    default: SERVER_DEFAULTS.hookMemoryMb,
    help: "JavaScript heap of a hook thread, and as much again in buffers; one that needs more is replaced",
    commands: SERVE,
  },
  inspectHooks: {
    type: "boolean",
    default: SERVER_DEFAULTS.inspectHooks,
    help: "let a debugger on this machine attach to each hook thread, at the first free port from 9229 on",
    commands: SERVE,
  },
  watch: {
    type: "boolean",
    default: false,
    help: "load the hook file anew when it or a file it imports changes, as SIGHUP does",
    commands: SERVE,
  },
  instances: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.instances,
    help: "copies of each model, each in a thread of its own",
    commands: SERVE,
  },
  threads: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    help: "threads that each copy's runtime may use; left out, the cores divided by the instances",
    commands: SERVE,
  },
  modelStall: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.modelStallMs / 1000,
    help: "after which a model thread that does not return is replaced; 0 = never",
    commands: SERVE,
  },
  maxQueue: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.maxQueue,
    help: "requests under way at most, waiting or running; more are refused at once",
    commands: SERVE,
  },
  maxQueueBytes: {
    type: "bytes",
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.maxQueueBytes,
    help: "bytes that requests hold together at most: bodies as they come in, what they are inflated to, inputs, outputs, answers until they are sent; more are refused at once, but one request alone always gets in",
    commands: SERVE,
  },
  requestTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.requestTimeoutMs / 1000,
    help: "after which a request fails where its client sets no earlier deadline; 0 = never",
    commands: SERVE,
  },
  sendTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.sendTimeoutMs / 1000,
    help: "after which a client that takes nothing of its answer is cut; 0 = never",
    commands: BOTH,
  },
  drainTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.drainTimeoutMs / 1000,
    help: "how long requests under way may take to finish after Ctrl-C or SIGTERM",
    commands: BOTH,
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    placeholder: "LEVEL",
    default: "info",
    alsoEnv: "LOG_LEVEL",
    help: "least important level that is logged",
    commands: BOTH,
  },
  accessLog: {
    type: "boolean",
    default: SERVER_DEFAULTS.accessLog,
    help: "log a line for each request at level info, with its model, status, sizes and times; without it they are logged at level debug",
    commands: BOTH,
  },
  logFormat: {
    type: "choice",
    choices: ["auto", "text", "json"],
    placeholder: "FORMAT",
    default: "auto",
    help: "form of the log on standard output: text for people, json for programs, auto for text at a terminal and json elsewhere",
    commands: BOTH,
  },
  logPath: {
    type: "text",
    placeholder: "FILE",
    alsoEnv: "LOG_PATH",
    help: "file to append the log to as JSON lines, in addition to standard output",
    commands: BOTH,
  },
} as const satisfies Record<string, Setting>;

/** A key of {@link SETTINGS}. */
export type SettingName = keyof typeof SETTINGS;

interface ValueByType {
  readonly text: string;
  readonly host: string;
  readonly address: string;
  readonly boolean: boolean;
  readonly port: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly count: number;
  readonly list: readonly string[];
  readonly command: readonly [string, ...string[]];
}

type ValueOf<S extends Setting> = S extends { choices: readonly (infer Choice)[] }
  ? Choice
  : S extends { type: keyof ValueByType }
    ?
        | ValueByType[S["type"]]
        | (S extends { type: "text" | "count" | "command" } & { default?: never } ? undefined : never)
    : never;

/** The settings of one command, read and complete; undefined = not given, and there is no default. */
export type Settings<Command extends SettingsCommand> = {
  readonly [Name in SettingName as Command extends (typeof SETTINGS)[Name]["commands"][number] ? Name : never]: ValueOf<
    (typeof SETTINGS)[Name]
  >;
};

/** The settings that a command takes, in the order of help. */
export function settingsOf(command: SettingsCommand): [SettingName, Setting][] {
  const all = Object.entries<Setting>(SETTINGS) as [SettingName, Setting][];
  return all.filter(([, { commands }]) => commands.includes(command));
}

/** `modelPath` → `--model-path`. */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `modelPath` → `KSERVING_MODEL_PATH`. */
export function envOf(name: SettingName): string {
  return `KSERVING_${flagOf(name).slice(2).replaceAll("-", "_").toUpperCase()}`;
}
