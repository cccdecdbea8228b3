import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer, type Server } from "../src/server/server.ts";
import { quantile } from "./load.ts";
import { tableLines } from "./table.ts";

const MODEL = fileURLToPath(new URL("../test/fixtures/models/half-plus-two.onnx", import.meta.url));
const BODY = '{"inputs": [2.5]}';
/** Milliseconds of traffic before each change of version. */
const REST_MS = 1000;

/** Prints the costs of changing models: memory and threads after many loads, and how long requests take while a version is replaced. */
export async function runReload(args: readonly string[]): Promise<void> {
  const at = args.indexOf("--cycles");
  const cycles = at < 0 ? 1000 : Number(args[at + 1]);
  const folder = join(tmpdir(), `kserving-reload-${process.pid}`);
  addVersion(folder, 1);
  const server = await createServer({ models: { half: { path: folder } }, http: {} });
  try {
    await measureCycles(server, cycles);
    await measureSwitches(server, folder, Math.min(10, cycles));
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

async function measureCycles(server: Server, cycles: number): Promise<void> {
  const rows = [["cycles", "RSS in MB", "threads", "ms a cycle"]];
  const started = performance.now();
  for (let cycle = 1; cycle <= cycles; cycle++) {
    await server.unload("half");
    await server.load("half");
    if (cycle % Math.ceil(cycles / 10) !== 0) continue;
    const rss = Math.round(process.memoryUsage().rss / 1e6);
    const msPerCycle = Math.round((performance.now() - started) / cycle);
    rows.push([cycle, rss, readdirSync("/proc/self/task").length, msPerCycle].map(String));
  }
  for (const line of tableLines(rows)) console.log(line);
}

/** Answers of 8 clients that never pause, at rest and from the moment in which a new version appears until the old one is gone. */
async function measureSwitches(server: Server, folder: string, switches: number): Promise<void> {
  const times = { rest: [] as number[], change: [] as number[] };
  let phase: keyof typeof times = "rest";
  let isOn = true;
  const clients = Array.from({ length: 8 }, async () => {
    while (isOn) {
      const [began, started] = [phase, performance.now()];
      const answer = await fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body: BODY });
      if (answer.status !== 200) throw new Error(`A request failed while versions changed: ${await answer.text()}`);
      await answer.arrayBuffer();
      times[began].push(performance.now() - started);
    }
  });
  for (let version = 2; version < 2 + switches; version++) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    addVersion(folder, version);
    phase = "change";
    const ended = endOf(server, BigInt(version - 1));
    await server.load("half");
    await ended;
    phase = "rest";
  }
  isOn = false;
  await Promise.all(clients);
  const rows = Object.entries(times).map(([name, all]) => {
    const sorted = all.toSorted((a, b) => a - b);
    return [name, String(all.length), ...[0.5, 0.99].map((share) => quantile(sorted, share).toFixed(2))];
  });
  for (const line of tableLines([["8 clients", "requests", "p50 ms", "p99 ms"], ...rows])) console.log(line);
}

function endOf(server: Server, version: bigint): Promise<void> {
  return new Promise((resolve) => {
    const stop = server.onState((one) => {
      if (one.version !== version || one.state !== "END") return;
      stop();
      resolve();
    });
  });
}

function addVersion(folder: string, version: number): void {
  mkdirSync(join(folder, String(version)), { recursive: true });
  cpSync(MODEL, join(folder, String(version), "model.onnx"));
}
