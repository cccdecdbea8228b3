import { renameSync } from "node:fs";
import { join } from "node:path";
import { cpuMs } from "../../test/helpers/process-usage.ts";
import { tableLines } from "../../test/helpers/table.ts";
import { type BenchServer, startKserving } from "../engine/servers.ts";
import { addVersion, withFolder } from "./version-folder.ts";

const COUNT = 10;
const WINDOW_MS = 10_000;

/**
 * Prints the share of a core that a server takes which polls every second, at rest and while the version folders of ten
 * models are renamed, all of which are loaded again; and that of a server which never looks, in the same time.
 */
export function measureRenames(): Promise<void> {
  return withFolder(async (folder) => {
    const models = Array.from({ length: COUNT }, (_, index) => join(folder, `m${index}`));
    for (const model of models) addVersion(model, 1);
    const start = (seconds: number) =>
      startKserving(["--model-repository", folder, "--poll-interval", String(seconds)]);
    const [polling, still] = [await start(1), await start(0)];
    const rename = async (from: string, to: string) => {
      const loaded = untilLoaded(polling, to);
      for (const model of models) renameSync(join(model, from), join(model, to));
      await loaded;
    };
    const rows = [[`${COUNT} models, ${WINDOW_MS / 1000} s`, "% of a core", "of a server that never looks"]];
    const measure = async (name: string, act: () => Promise<void>) =>
      rows.push([name, ...(await shares([polling, still], act))]);
    try {
      await shares([polling, still], async () => {});
      await measure("polled", async () => {});
      await measure("each renamed and loaded, by code that runs for the first time", () => rename("1", "2"));
      await measure("each renamed and loaded again", () => rename("2", "3"));
      for (const line of tableLines(rows)) console.log(line);
    } finally {
      await Promise.all([polling.stop(), still.stop()]);
    }
  });
}

/** The share of a core that each server takes from now on, in percent. */
async function shares(servers: readonly BenchServer[], act: () => Promise<void>): Promise<string[]> {
  const before = servers.map(({ pid }) => cpuMs(pid));
  const end = new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
  await act();
  await end;
  return servers.map(({ pid }, index) => (((cpuMs(pid) - before[index]!) / WINDOW_MS) * 100).toFixed(2));
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
