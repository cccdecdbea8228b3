import { renameSync } from "node:fs";
import { join } from "node:path";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer, type Server } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { tableLines } from "../table.ts";
import { addVersion, withFolder } from "./version-folder.ts";

const COUNT = 10;
const WINDOW_MS = 10_000;

/** Prints the share of a core that polling takes every second, at rest and while the version folders of ten models are renamed, all of which are loaded anew. */
export function measureRenames(): Promise<void> {
  return withFolder(async (folder) => {
    const models = Array.from({ length: COUNT }, (_, index) => join(folder, `m${index}`));
    for (const model of models) addVersion(model, 1);
    const log = createSilentLogger();
    const source = new RepositorySource({ folders: [folder] }, { pollMs: 1000, log });
    const server = await openServer(withDefaults({ log }), source);
    try {
      await share(async () => {});
      const rest = await share(async () => {});
      const renamed = await share(async () => {
        for (const model of models) renameSync(join(model, "1"), join(model, "2"));
        await untilLoaded(server, 2n);
      });
      const rows = [[`${COUNT} models, ${WINDOW_MS / 1000} s`, "% of a core"]];
      rows.push(["polled", rest.toFixed(2)], ["polled, each renamed once and loaded", renamed.toFixed(2)]);
      for (const line of tableLines(rows)) console.log(line);
    } finally {
      await server.close();
    }
  });
}

/** The share of a core that this process takes from now on, in percent. */
async function share(act: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  const end = new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
  await act();
  await end;
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1000 / WINDOW_MS) * 100;
}

async function untilLoaded(server: Server, version: bigint): Promise<void> {
  const isLoaded = () => server.models().filter((one) => one.version === version && one.state === "AVAILABLE").length;
  if (isLoaded() === COUNT) return;
  await new Promise<void>((resolve) => {
    const stop = server.onState(() => {
      if (isLoaded() < COUNT) return;
      stop();
      resolve();
    });
  });
}
