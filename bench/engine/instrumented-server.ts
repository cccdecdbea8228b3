import { mkdtemp, readFile, rm, watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BenchServer, benchFile, startKserving } from "./servers.ts";

/** The main thread's event loop since the last question: how late it was. */
export interface LoopDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A server that can be asked what only its own process knows. */
export interface InstrumentedServer extends BenchServer {
  /**
   * Collects garbage in the main and the model threads, and in hook threads with collecting-hooks.ts; gives the
   * event-loop delay since the last call.
   */
  settle(): Promise<LoopDelay>;
}

/** Starts kserving with a few lines of ours loaded before it. */
export async function startInstrumented(args: readonly string[]): Promise<InstrumentedServer> {
  const folder = await mkdtemp(join(tmpdir(), "kserving-bench-"));
  const out = join(folder, "facts.json");
  const preload = pathToFileURL(benchFile("instrument.mjs"));
  preload.searchParams.set("out", out);
  const server = await startKserving(args, ["--import", preload.href]);
  return {
    ...server,
    settle: () => ask(server.pid, folder, out),
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function ask(pid: number, folder: string, out: string): Promise<LoopDelay> {
  const changes = watch(folder);
  process.kill(pid, "SIGUSR2");
  for await (const { filename } of changes) if (filename === "facts.json") break;
  return JSON.parse(await readFile(out, "utf8"));
}
