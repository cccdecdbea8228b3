import type { Logger } from "../../observability/logger.ts";
import { HttpServerProcess } from "./http-server-process.ts";

/** Addresses and limits for another program that serves HTTP for us. */
export interface HttpServerCommandOptions {
  readonly grpcAddress: string;
  readonly httpPort: number;
  readonly log: Logger;
}

/**
 * Starts the program of `--http-server-command` and keeps it running. It learns where to go from its environment
 * (KSERVING_GRPC_ADDRESS, KSERVING_HTTP_PORT, which `kserving proxy` reads too) or from `{grpc_address}`, `{grpc_port}`
 * and `{http_port}` in its arguments.
 */
export async function startHttpServerCommand(
  [program, ...args]: readonly [string, ...string[]],
  { grpcAddress, httpPort, log }: HttpServerCommandOptions,
): Promise<HttpServerProcess> {
  const values: Readonly<Record<string, string>> = {
    "{grpc_address}": grpcAddress,
    "{grpc_port}": grpcAddress.slice(grpcAddress.lastIndexOf(":") + 1),
    "{http_port}": String(httpPort),
  };
  const fill = (word: string) => word.replace(/\{\w+\}/g, (placeholder) => values[placeholder] ?? placeholder);
  const supervised = new HttpServerProcess({
    argv: [program, ...args.map(fill)],
    // Our own delay is over when the program is asked to end.
    env: {
      ...process.env,
      KSERVING_GRPC_ADDRESS: grpcAddress,
      KSERVING_HTTP_PORT: String(httpPort),
      KSERVING_SHUTDOWN_DELAY: "0",
    },
    log,
  });
  await supervised.start();
  return supervised;
}
