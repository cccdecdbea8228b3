import { renameSync } from "node:fs";
import { join } from "node:path";
import { cpuMs } from "../engine/process-usage.ts";
import { type BenchServer, startKserving } from "../engine/servers.ts";
import { tableLines } from "../table.ts";
import { addVersion, withFolder } from "./version-folder.ts";

const COUNT = 10;
const WINDOW_MS = 10_000;

/** Prints the share of a core that a server takes which polls every second, at rest and while the version folders of ten models are renamed, all of which are loaded again. */
export function measureRenames(): Promise<void> {
  return withFolder(async (folder) => {
    const models = Array.from({ length: COUNT }, (_, index) => join(folder, `m${index}`));
    for (const model of models) addVersion(model, 1);
    const server = await startKserving(["--model-repository", folder, "--poll-interval", "1"]);
    try {
      await share(server, async () => {});
      const rest = await share(server, async () => {});
      const rename = (from: string, to: string) =>
        share(server, async () => {
          const loaded = untilLoaded(server, to);
          for (const model of models) renameSync(join(model, from), join(model, to));
          await loaded;
        });
      const renamed = await rename("1", "2");
      const again = await rename("2", "3");
      const rows = [[`${COUNT} models, ${WINDOW_MS / 1000} s`, "% of a core"]];
      rows.push(["polled", rest.toFixed(2)]);
      rows.push(["each renamed and loaded, by code that runs for the first time", renamed.toFixed(2)]);
      rows.push(["each renamed and loaded again", again.toFixed(2)]);
      for (const line of tableLines(rows)) console.log(line);
    } finally {
      await server.stop();
    }
  });
}

/** The share of a core that the server takes from now on, in percent. */
async function share({ pid }: BenchServer, act: () => Promise<void>): Promise<number> {
  const before = cpuMs(pid);
  const end = new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
  await act();
  await end;
  return ((cpuMs(pid) - before) / WINDOW_MS) * 100;
}

function untilLoaded(server: BenchServer, wanted: string): Promise<void> {
  let left = COUNT;
  return new Promise((resolve) => {
    server.onLog((event) => {
      const { msg, state, version } = event as { msg: string; state?: string; version?: string };
      if (msg === "model state" && state === "AVAILABLE" && version === wanted && --left === 0) resolve();
    });
  });
}
