import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fetchWheel, findPip } from "../../../src/storage/runtimes/fetch-wheel.ts";
import { hostPlatform } from "../../../src/storage/runtimes/wheels.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel } from "./make-wheel.ts";
import { startIndex } from "./start-index.ts";
import { recordingReporter } from "./toy-runtime.ts";

const INFO = "toy_runtime-1.2.3.dist-info";
const WHEEL = makeWheel(
  {
    [`${INFO}/METADATA`]: "Metadata-Version: 2.1\nName: toy-runtime\nVersion: 1.2.3\n",
    [`${INFO}/WHEEL`]: "Wheel-Version: 1.0\n",
  },
  { python: "cp312-cp312" },
);
const WANTED = { project: "toy-runtime", version: "1.2.3", host: hostPlatform() };

const pip = await findPip();
if (pip === undefined) process.stderr.write("Skipped: fetching with pip, since there is none\n");

function fetchFrom(url: string, from?: "index" | "pip") {
  vi.stubEnv("PIP_INDEX_URL", url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [folder, reporter] = [tempFolder(), recordingReporter()];
  const { signal } = new AbortController();
  return { folder, reporter, wheel: fetchWheel(WANTED, { from, folder, signal, reporter }) };
}

/** An index that only pip reaches, as where a proxy stands between. */
async function startPipsOwnIndex(): Promise<string> {
  const index = await startIndex({ project: "toy-runtime", files: { [WHEEL.name]: WHEEL.bytes } });
  const origin = new URL(index.url).origin;
  const server = createServer((request, response) => {
    const isPip = request.headers["user-agent"]?.startsWith("pip/");
    response.writeHead(isPip ? 307 : 502, { location: origin + request.url }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
}

test.runIf(pip !== undefined)("pip fetches where the index cannot be reached otherwise", async () => {
  const { folder, reporter, wheel } = fetchFrom(await startPipsOwnIndex());
  expect(basename(await wheel)).toBe(WHEEL.name);
  expect(await readdir(join(folder, "pip"))).toEqual([WHEEL.name]);
  expect(reporter.steps[0]).toMatch(/^The package index 127.0.0.1:\d+ answers 502/);
  expect(reporter.steps[1]).toMatch(/^Downloading toy-runtime 1.2.3 with pip \d/);
});

test.runIf(pip !== undefined)("pip's error is reported where it finds nothing", async () => {
  const { url } = await startIndex({ project: "toy-runtime", files: {} });
  await expect(fetchFrom(url, "pip").wheel).rejects.toThrow(
    "pip could not download the wheel: No matching distribution found for toy-runtime==1.2.3. Download it elsewhere",
  );
});

test("pip is left out where the index alone is asked for, and where pip could not help either", async () => {
  await expect(fetchFrom(await startPipsOwnIndex(), "index").wheel).rejects.toThrow("answers 502");
  const { url } = await startIndex({ project: "toy-runtime", files: {} });
  await expect(fetchFrom(url).wheel).rejects.toThrow("has no wheel toy-runtime 1.2.3");
});
