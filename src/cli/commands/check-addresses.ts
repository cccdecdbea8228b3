import { invalidArgument } from "../../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { toTlsPaths } from "./tls-options.ts";

/** Throws `invalid_argument`, with the flags, for ports, sockets and certificates that do not go together. */
export function checkAddresses(settings: Settings<"serve">): void {
  const { grpcSocketOnly, grpcSocketPath, httpServerCommand } = settings;
  if (grpcSocketOnly && grpcSocketPath === undefined)
    throw invalidArgument("--grpc-socket-only lacks the path of the socket, --grpc-socket-path.");
  if (grpcSocketOnly && httpServerCommand !== undefined)
    throw invalidArgument("--grpc-socket-only does not go with --http-server-command, whose program needs a port.");
  if (!/^\/[\x21-\x7e]+$/.test(settings.tensorflowMetricsPath))
    throw invalidArgument(
      `--tensorflow-metrics-path is "${settings.tensorflowMetricsPath}"; expected a path that begins with /.`,
    );
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
