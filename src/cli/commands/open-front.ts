import { toAuthority } from "../../net/listen.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Server } from "../../server/server.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import { startHttpServerCommand } from "../http-server-command/http-server-command.ts";
import type { Running } from "../lifecycle/shutdown.ts";
import type { Settings } from "../settings/settings.ts";

/** A running server with the address at which HTTP is served; undefined = it is not. */
interface Front extends Running {
  readonly httpUrl: string | undefined;
}

/** The server, with another program before it where `--http-server-command` asks for one. */
export async function openFront(server: Server, settings: Settings<"serve">, log: Logger): Promise<Front> {
  const inFlight = () => server.inFlight();
  const retire = () => server.retire();
  if (settings.httpServerCommand === undefined) {
    return { httpUrl: server.httpUrl, inFlight, retire, close: () => server.close() };
  }
  const httpPort = settings.httpPort === 0 ? await probePort(settings.host, 0, "httpPort") : settings.httpPort;
  const grpcAddress = toReachableAddress(server.grpcAddress, "127.0.0.1");
  const program = startHttpServerCommand(settings.httpServerCommand, { grpcAddress, httpPort, log });
  const front = await program.catch(async (reason) => {
    await server.close();
    throw reason;
  });
  const close = async () => {
    await Promise.all([front.close(settings.drainTimeout * 1000), server.close()]);
  };
  return { httpUrl: `http://${toAuthority(settings.host, httpPort)}`, inFlight, retire, close, abandon: front.kill };
}
