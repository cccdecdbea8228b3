import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { hasPromtool } from "../helpers/find-promtool.ts";
import { freePort } from "../helpers/free-port.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { readDashboardQueries } from "./dashboard-queries.ts";

/** Grafana's variables, as it fills them in. */
const VARIABLES = { $job: "kserving", $model: ".*", $__rate_interval: "10s" };

interface PrometheusAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

/** A Prometheus that scrapes a server each second; gives the values of a query. */
async function startPrometheus(target: string) {
  const scrape = { job_name: "kserving", scrape_interval: "1s", static_configs: [{ targets: [target] }] };
  const folder = tempFolder({ "prometheus.yml": JSON.stringify({ scrape_configs: [scrape] }) });
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    "prometheus",
    [
      ...[`--config.file=${join(folder, "prometheus.yml")}`, `--storage.tsdb.path=${join(folder, "data")}`],
      `--web.listen-address=${address}`,
    ],
    { stdio: "ignore" },
  );
  onTestFinished(() => end(child));
  return async (query: string): Promise<number[]> => {
    const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`).catch(
      () => undefined,
    );
    if (response === undefined) return [];
    const { status, error, data } = (await response.json()) as PrometheusAnswer;
    if (status !== "success") throw new Error(`${query}: ${error}`);
    return data.result.map(({ value: [, value] }) => Number(value));
  };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill();
  if (child.exitCode === null) await once(child, "exit");
}

test.skipIf(!hasPromtool())(
  "every panel of the dashboard shows something of a server that Prometheus scrapes",
  { timeout: 60_000 },
  async () => {
    const hooks: Hooks = {
      async *process(inputs) {
        yield inputs;
        yield inputs;
      },
    };
    const { httpUrl } = await startServer({ models: { once: { driver: "null" }, parts: { driver: "null", hooks } } });
    const ask = async (instances: unknown) => {
      const body = JSON.stringify({ instances });
      const headers = { accept: "application/x-ndjson" };
      for (const model of ["once", "parts"])
        await (await fetch(`${httpUrl}/v1/models/${model}:predict`, { method: "POST", body, headers })).text();
    };
    const query = await startPrometheus(new URL(httpUrl).host);
    for (const template of readDashboardQueries()) {
      const filled = Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), template);
      await expect
        .poll(
          async () => {
            await ask([1, 2]);
            await ask("no");
            return (await query(filled)).filter((value) => !Number.isNaN(value)).length;
          },
          { timeout: 20_000, interval: 200, message: filled },
        )
        .toBeGreaterThan(0);
    }
  },
);
