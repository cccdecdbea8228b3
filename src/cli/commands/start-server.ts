import type { Logger } from "../../observability/logger.ts";
import type { RepositorySource } from "../../server/repository-source.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import type { Server } from "../../server/server.ts";
import type { ServerOptions } from "../../server/server-options.ts";
import type { ModelSources } from "../../serving/repository/config-sources.ts";
import type { PlatformFolder } from "../../serving/repository/formats/sagemaker.ts";
import type { Settings } from "../settings/settings.ts";

/** A server to start. */
export interface WantedServer {
  readonly options: ServerOptions;
  /** The named models; undefined = the options have one pipeline. */
  readonly sources: ModelSources | undefined;
  readonly settings: Settings<"serve">;
  /** Folder from which a platform loads models. */
  readonly platform?: PlatformFolder | undefined;
  /** True for a start that goes on if no model has a version yet. */
  readonly mayBeEmpty?: boolean | undefined;
  /** Name of a model that is loaded after all others, which do not wait for it. */
  readonly loadedLast?: string | undefined;
  readonly log: Logger;
  /** Called after each change of a named version's state, from its first load on. */
  readonly onState?: (version: ServedVersion) => void;
}

/** A started server. */
export interface StartedServer {
  readonly server: Server;
  /** Scans the descriptions and files of named models again; absent for one pipeline. */
  readonly rescan?: () => Promise<void>;
}

/** Starts a server of one pipeline or of named models; the server is imported here, since that takes its time. */
export async function startServer(wanted: WantedServer): Promise<StartedServer> {
  const { options, sources, settings, platform, mayBeEmpty, loadedLast, log, onState } = wanted;
  const { createServer, openServer } = await import("../../server/server.ts");
  if (sources === undefined) return { server: await createServer({ ...options, log }) };
  const { withDefaults } = await import("../../server/server-options.ts");
  const source = await openSource(sources, settings, log);
  const hosted = platform && { ...platform, options: sources.options };
  const keysForAll = Object.keys(sources.options ?? {});
  const choices = { ...withDefaults({ ...options, log }), platform: hosted, mayBeEmpty, loadedLast, keysForAll };
  const server = await openServer(choices, source, onState);
  return { server, rescan: () => source.rescan() };
}

async function openSource(
  sources: ModelSources,
  { modelControl, loadModel, pollIntervalMs }: Settings<"serve">,
  log: Logger,
): Promise<RepositorySource> {
  const { RepositorySource } = await import("../../server/repository-source.ts");
  const pollMs = modelControl === "poll" || pollIntervalMs < 0 ? pollIntervalMs : 0;
  return new RepositorySource(sources, { pollMs, log, ...(modelControl === "explicit" && { explicit: loadModel }) });
}
