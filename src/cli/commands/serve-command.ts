import { toAuthority } from "../../net/authority.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Server } from "../../server/server.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import type { Announcer, ReadyFacts } from "../announcer/announcer.ts";
import { chooseAnnouncer } from "../announcer/choose-announcer.ts";
import { exampleHeading } from "../announcer/example-heading.ts";
import { exampleRequest } from "../announcer/example-request.ts";
import { openAccessNotice } from "../announcer/open-access-notice.ts";
import { startHttpServerCommand } from "../http-server-command/http-server-command.ts";
import { reloadHooksOnDemand } from "../lifecycle/reload-hooks-on-demand.ts";
import { returnMemory } from "../lifecycle/return-memory.ts";
import { endOnSignal, type Running, runUntilSignal } from "../lifecycle/shutdown.ts";
import { openProgramLog } from "../program-log.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { toServerOptions } from "./server-options.ts";

/** `kserving serve`: loads, serves, and resolves once a signal has ended it in good order. */
export async function serve(commandLine: ParsedCommandLine<"serve">, env: Environment): Promise<void> {
  const { settings } = commandLine;
  const options = await toServerOptions(commandLine);
  const programLog = openProgramLog(settings);
  const { log } = programLog;
  for (const warning of misspeltVariables(env)) log.warn(warning);
  const announcer = chooseAnnouncer(programLog);
  const releaseSignals = endOnSignal();
  await probePorts(settings);
  announcer.loading(options.models);
  const { createServer } = await import("../../server/server.ts");
  const server = await createServer({ ...options, log });
  const { httpUrl, ...running } = await openFront(server, settings, log);
  const facts = toFacts(server, httpUrl, settings.name);
  const stopReloading = reloadHooksOnDemand(server, { watch: settings.watch, log });
  const stopped = runUntilSignal(running, announcer).finally(stopReloading);
  releaseSignals();
  process.on("unhandledRejection", (err) =>
    log.error("a promise that no hook awaits was rejected; await it, or catch its errors", { err }),
  );
  const notice = openAccessNotice(settings.host, settings.allowControl);
  if (notice !== undefined) log.info(notice);
  // Last, so that whoever reads it may send signals and change files.
  announcer.ready(facts);
  void tellExample(server, facts, announcer);
  returnMemory();
  await stopped;
}

async function probePorts({ host, port, httpEnable, httpServerCommand, httpPort }: Settings<"serve">): Promise<void> {
  await probePort(host, port, "port");
  const isShared = httpPort === port && httpServerCommand === undefined;
  const hasHttp = httpEnable || httpServerCommand !== undefined;
  if (hasHttp && !isShared) await probePort(host, httpPort, "httpPort");
}

interface Front extends Running {
  readonly httpUrl: string | undefined;
}

/** The server, with another program before it where one is asked for. */
async function openFront(server: Server, settings: Settings<"serve">, log: Logger): Promise<Front> {
  const inFlight = () => server.inFlight();
  if (settings.httpServerCommand === undefined) {
    return { httpUrl: server.httpUrl, inFlight, close: () => server.close() };
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
  return { httpUrl: `http://${toAuthority(settings.host, httpPort)}`, inFlight, close, abandon: front.kill };
}

function toFacts(server: Server, boundHttpUrl: string | undefined, name: string): ReadyFacts {
  const grpcAddress = toReachableAddress(server.grpcAddress);
  const http = boundHttpUrl === undefined ? {} : { httpUrl: toReachableAddress(boundHttpUrl) };
  return { name, grpcAddress, ...http, stages: server.stages };
}

/** After all else: trying a model may take its time. */
async function tellExample(server: Server, { name = "", grpcAddress, httpUrl }: ReadyFacts, announcer: Announcer) {
  if (announcer.example === undefined) return;
  const example = await server.exampleInputs();
  if (example === undefined) return;
  // Which requests another program understands is not known here.
  const own = server.httpUrl === undefined || httpUrl === undefined ? {} : { httpUrl };
  const line = exampleRequest({ name, inputs: example.inputs, grpcAddress, ...own });
  announcer.example(exampleHeading(example), line);
}
