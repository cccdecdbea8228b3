import { permitCollections } from "../../limits/memory/young-garbage.ts";
import { probePort } from "../addresses/probe-port.ts";
import { toReachableAddress } from "../addresses/reachable-address.ts";
import { compileSooner } from "../lifecycle/compile-sooner.ts";
import { prepareRoutes } from "../lifecycle/prepare-routes.ts";
import { returnMemory } from "../lifecycle/return-memory.ts";
import { endOnSignal, runUntilSignal } from "../lifecycle/shutdown.ts";
import { watchContainer } from "../lifecycle/watch-memory.ts";
import type { Environment } from "../settings/environment.ts";
import type { ParsedCommandLine } from "../settings/parse-settings.ts";
import { chooseReporter } from "../status-reporter/choose-reporter.ts";
import { openAccessNotice } from "../status-reporter/open-access-notice.ts";
import { openLog } from "./open-log.ts";
import { openProxy } from "./open-proxy.ts";

/** `kserving proxy`: serves HTTP for a gRPC server elsewhere, and resolves once a signal has ended it in good order. */
export async function proxy({ settings }: ParsedCommandLine<"proxy">, env: Environment): Promise<void> {
  const { host, httpPort, grpcAddress, allowControl } = settings;
  permitCollections();
  const programLog = openLog(settings, env);
  const { log } = programLog;
  const reporter = chooseReporter(programLog);
  const releaseSignals = endOnSignal();
  await probePort(host, httpPort, "httpPort");
  const { url, hasAuth, ...running } = await openProxy(settings, env, log);
  watchContainer(log);
  const stopped = runUntilSignal(running, reporter, { delayMs: settings.shutdownDelay * 1000 });
  releaseSignals();
  const notice = hasAuth ? undefined : openAccessNotice(host, allowControl);
  if (notice !== undefined) log.info(notice);
  reporter.ready({ grpcAddress, httpUrl: toReachableAddress(url), stages: [] });
  prepareRoutes();
  returnMemory();
  compileSooner();
  await stopped;
}
