import { createServer, type Server } from "../../src/server/server.ts";
import { quantile } from "../load.ts";
import { tableLines } from "../table.ts";
import { addVersion, withFolder } from "./version-folder.ts";

const BODY = '{"inputs": [2.5]}';
const SWITCHES = 10;
/** Milliseconds of traffic before each change of version. */
const REST_MS = 1000;

/** Prints how long the answers of 8 clients take that never pause, at rest and from the moment in which a new version appears until the old one is gone. */
export function measureSwitches(): Promise<void> {
  return withFolder(async (folder) => {
    addVersion(folder, 1);
    const server = await createServer({ models: { half: { path: folder } }, http: {} });
    const times = { rest: [] as number[], change: [] as number[] };
    let phase: keyof typeof times = "rest";
    let isOn = true;
    const clients = Array.from({ length: 8 }, async () => {
      while (isOn) {
        const [began, started] = [phase, performance.now()];
        await ask(server);
        times[began].push(performance.now() - started);
      }
    });
    for (let version = 2; version < 2 + SWITCHES; version++) {
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
    await server.close();
    const rows = Object.entries(times).map(([name, all]) => {
      const sorted = all.toSorted((a, b) => a - b);
      return [name, String(all.length), ...[0.5, 0.99].map((share) => quantile(sorted, share).toFixed(2))];
    });
    for (const line of tableLines([["8 clients", "requests", "p50 ms", "p99 ms"], ...rows])) console.log(line);
  });
}

async function ask({ httpUrl }: Server): Promise<void> {
  const answer = await fetch(`${httpUrl}/v1/models/half:predict`, { method: "POST", body: BODY });
  if (answer.status !== 200) throw new Error(`A request failed while versions changed: ${await answer.text()}`);
  await answer.arrayBuffer();
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
