import type { AuthenticationOptions } from "../../access/authentication/open-authentication.ts";
import { findDriver } from "../../drivers/registry.ts";
import { invalidArgument } from "../../errors.ts";
import { OPTION_ROWS, type SettingOptions } from "../../platform/limits/settings/server-settings.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import { type ModelFlag, pairModels } from "../../serving/repository/stage.ts";
import type { ListedFlag } from "../settings/flag-parser.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { toRemoteTls, toTlsPaths } from "./tls-options.ts";

/**
 * Translates a command line for `createServer`. Throws for a driver that does not exist, and `invalid_argument` if
 * drivers, paths and stages do not fit each other.
 */
export async function toServerOptions({ settings, listed }: ParsedCommandLine<"serve">): Promise<ServerOptions> {
  // First, since a misspelt null would look like a driver that lacks its path.
  await Promise.all(settings.driver.filter(isBareName).map(findDriver));
  const models = pairModels(listed.filter(isModelFlag));
  const { shared, stages } = parseOptionFlags(settings.option, models.length);
  return {
    ...toServerSettings(settings),
    stages: models.map((model, index) => ({ ...model, options: stages[index] ?? {} })),
    options: shared,
    name: settings.name,
    ...(settings.hooks !== undefined && { hooks: settings.hooks }),
    ...(settings.warmup.length > 0 && { warmup: settings.warmup }),
  };
}

/**
 * Translates settings that say how a server runs, whatever it serves; throws
 * `invalid_argument` for addresses that do not go together.
 */
export function toServerSettings(settings: Settings<"serve">): ServerOptions {
  checkAddresses(settings);
  const tls = toTlsPaths(settings);
  const hasOwnHttp = settings.httpEnable && settings.httpServerCommand === undefined;
  return {
    ...toOptions(settings),
    tracing: true,
    requestLog: {
      ...(settings.requestLog !== undefined && { prefix: settings.requestLog }),
      rate: settings.requestLogRate,
      maxBytes: settings.requestLogMaxSize,
      files: settings.requestLogFiles,
    },
    ...(settings.keepFatalRequests !== undefined && { keepFatalRequests: { folder: settings.keepFatalRequests } }),
    ...(tls && { tls: { ...tls, scope: settings.tlsScope } }),
    ...toAuth(settings),
    ...(settings.adminPort !== undefined && { admin: { host: settings.adminHost, port: settings.adminPort } }),
    ...(settings.metricsPort !== undefined && {
      metrics: { host: settings.metricsHost, port: settings.metricsPort },
    }),
    ...toRemoteTls(settings),
    ...(hasOwnHttp && { http: { port: settings.httpPort } }),
  };
}

/** The settings that are options of a server; those without a value are left out. */
export function toOptions(settings: Settings<"serve"> | Settings<"proxy">): SettingOptions {
  const values: Readonly<Record<string, unknown>> = settings;
  const given = [...OPTION_ROWS.keys()].filter((name) => values[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, values[name]]));
}

/** Checks for a flag that names a model or its driver. */
export function isModelFlag(flag: ListedFlag): flag is ModelFlag {
  return flag.flag === "driver" || flag.flag === "model-path";
}

/** Not a path to a driver file, which is better compiled only once. */
function isBareName(driver: string): boolean {
  return !/[./\\]/.test(driver);
}

/** Throws `invalid_argument`, with the flags, for ports, sockets and certificates that do not go together. */
function checkAddresses(settings: Settings<"serve">): void {
  const { grpcSocketOnly, grpcSocketPath, httpServerCommand } = settings;
  if (grpcSocketOnly && grpcSocketPath === undefined)
    throw invalidArgument("--grpc-socket-only lacks the path of the socket, --grpc-socket-path.");
  if (grpcSocketOnly && httpServerCommand !== undefined)
    throw invalidArgument("--grpc-socket-only does not go with --http-server-command, whose program needs a port.");
  checkTls(settings);
}

function checkTls(settings: Settings<"serve">): void {
  if (toTlsPaths(settings) === undefined) return;
  const { tlsScope, httpServerCommand } = settings;
  if (httpServerCommand !== undefined)
    throw invalidArgument("--tls-cert does not go with --http-server-command, whose program speaks plain gRPC.");
  const { httpEnable, httpPort, port, grpcSocketOnly } = settings;
  if (tlsScope === "grpc" && httpEnable && !grpcSocketOnly && port !== 0 && httpPort === port)
    throw invalidArgument(
      `gRPC and HTTP share the port ${port}; with --tls-scope grpc, which encrypts one of them, expected two ports.`,
    );
}

/** Settings of who may call, if there are any. */
export function toAuth(settings: Settings<"serve"> | Settings<"proxy">): { readonly auth?: AuthenticationOptions } {
  const { authUsers: users, authUsername: username, authPasswordFile: passwordFile } = settings;
  const { authTokens: tokens, authRules: rules } = settings;
  const { authJwks: jwks, authJwtIssuer: jwtIssuer, authJwtAudience: jwtAudience } = settings;
  const auth = { users, username, passwordFile, tokens, jwks, jwtIssuer, jwtAudience, rules };
  return Object.values(auth).every((value) => value === undefined) ? {} : { auth };
}
