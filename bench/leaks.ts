import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { endChildrenOnSignal, watchChild } from "../test/helpers/children.ts";
import { startCommand } from "../test/helpers/start-command.ts";
import { tableLines } from "../test/helpers/table.ts";
import { openSession } from "./attack/grpc-attack.ts";
import { createKinds, type LeakKind, type LeakServer } from "./leaks/kinds.ts";
import { cellsOf, loadCycles } from "./leaks/load-cycles.ts";
import { growing, holdingsOf } from "./leaks/measure.ts";

const HELP = `Sends each kind of request alone, many times, and compares what the server holds then with what it held before: objects, memory,
descriptors and threads. After a first part, which fills pools and caches, both halves of the others have to grow for a leak. Then
models of each driver are loaded and unloaded. Ends with 0 only when nothing grew.

  npm run check -- leaks --count 100000 --cycles 1000
  npm run check -- leaks grpc- stream          the kinds whose names begin so; load-DRIVER are the models
  npm run check -- leaks --list`;

const OPTIONS = {
  count: { type: "string", default: "2000" },
  cycles: { type: "string", default: "30" },
  list: { type: "boolean" },
  help: { type: "boolean" },
} as const;
const { values: flags, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
const AT_A_TIME = 8;
const WARM_UP_SHARE = 1;
const isChosen = (name: string) => positionals.length === 0 || positionals.some((start) => name.startsWith(start));

if (flags.help) console.log(HELP);
else if (flags.list) for (const { name } of await createKinds()) console.log(name);
else process.exitCode = await run();

/** Gives the process's exit code. */
async function run(): Promise<number> {
  endChildrenOnSignal();
  const kinds = (await createKinds()).filter(({ name }) => isChosen(name));
  const rows = [["kind", "requests", "objects/request", "PSS/request", "descriptors", "threads", "s", "verdict"]];
  const tell = (cells: readonly string[]) => {
    rows.push([...cells]);
    console.error(cells.join("  "));
  };
  if (kinds.length > 0) await withServer((server, file) => askAll(kinds, server, { file, tell }));
  for (const cells of await loadCycles(Number(flags.cycles), isChosen)) tell(cells);
  console.log(tableLines(rows).join("\n"));
  return rows.slice(1).every((cells) => cells.at(-1) === "ok") ? 0 : 1;
}

async function withServer(use: (server: LeakServer, file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-"));
  const [config, file] = [join(folder, "models.json"), join(folder, "facts.json")];
  const hooks = (name: string) => fromRoot(`bench/leaks/${name}-hooks.ts`);
  const models = [
    { name: "default", driver: "null" },
    { name: "hooked", driver: "null", hooks: hooks("leak") },
    { name: "parts", driver: "null", hooks: hooks("part") },
    { name: "mortal", driver: fromRoot("test/faults/mortal-driver.ts"), isolate: true },
  ];
  writeFileSync(config, JSON.stringify({ models }));
  const instrument = `${pathToFileURL(fromRoot("bench/instrument.mjs"))}?out=${file}`;
  const started = await startCommand([process.execPath, "--import", instrument, ...serverCommand(config)]);
  watchChild(started.child);
  const { grpc, http, child } = started;
  const pid = child.pid as number;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });
  let session = await openSession({ grpc, http, pid });
  let renewal: Promise<void> | undefined;
  const reopen = async () => {
    session.destroy();
    session = await openSession({ grpc, http, pid });
    renewal = undefined;
  };
  const renew = async () => {
    if (session.closed || session.destroyed) renewal ??= reopen();
    await renewal;
  };
  await use(
    {
      grpc,
      http,
      pid,
      agent,
      renew,
      get session() {
        return session;
      },
    },
    file,
  );
  session.destroy();
  agent.destroy();
  await started.stop();
  rmSync(folder, { recursive: true });
}

function serverCommand(config: string): string[] {
  return [
    fromRoot("bin/kserving.cjs"),
    ...["--config", config, "--no-supervisor", "--threads", "1", "--hook-timeout", "0.4"],
    ...["--max-message-bytes", "1MB", "--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ];
}

interface Telling {
  /** The file of the server's instrument. */
  readonly file: string;
  readonly tell: (cells: readonly string[]) => void;
}

async function askAll(kinds: readonly LeakKind[], server: LeakServer, { file, tell }: Telling): Promise<void> {
  for (const kind of kinds) {
    const began = performance.now();
    const count = Math.min(kind.maxCount ?? Number.POSITIVE_INFINITY, Number(flags.count));
    const wrong = new Set<string>();
    const send = async (share: number) => {
      for (const status of await sendMany(kind, server, Math.ceil(count * share))) wrong.add(status);
      return holdingsOf(server.pid, file);
    };
    const held = [await send(WARM_UP_SHARE), await send(0.5), await send(0.5)] as const;
    const half = Math.ceil(count / 2);
    const problems = [...growing(held, half), ...[...wrong].map((status) => `answers ${status}`)];
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    tell([kind.name, String(count), ...cellsOf(held, half), seconds, problems.join(", ") || "ok"]);
  }
}

/** Resolves with the outcomes that were not expected. */
async function sendMany({ send, expected }: LeakKind, server: LeakServer, count: number): Promise<Set<string>> {
  const wrong = new Set<string>();
  let left = count;
  const askOn = async () => {
    while (left-- > 0) {
      await server.renew();
      const got = await Promise.race([send(server), wait(10_000, "nothing", { ref: false })]);
      if (got !== expected) wrong.add(got);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, askOn));
  return wrong;
}

function fromRoot(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}
