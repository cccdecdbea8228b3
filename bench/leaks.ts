import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { tableLines } from "../test/helpers/table.ts";
import { createKinds } from "./leaks/kinds.ts";
import { type LeakKind, type LeakServer, SERVER_FORMS } from "./leaks/leak-kind.ts";
import { AT_A_TIME, withLeakServer } from "./leaks/leak-server.ts";
import { loadCycles } from "./leaks/load-cycles.ts";
import { cellsOf, holdingsOf, measureHalves } from "./leaks/measure.ts";

const HELP = `Sends each kind of request alone, many times, and compares what the server holds then with what it held before: objects, memory,
descriptors and threads, those of its processes too. After a first part, which fills pools and caches, both halves of the others have
to grow for a leak, three times. Some kinds are sent over TLS too, and to several listeners (by Node 22, from the npm registry where this
is older). Then models of each driver are loaded and unloaded, and some replaced. Ends with 0 only when nothing grew. Models whose runtime is
not there are left out; those of Python need KSERVING_TEST_FRAMEWORKS, a Python with torch.

  npm run check -- leaks --count 100000 --cycles 1000
  npm run check -- leaks grpc- stream          the kinds whose names begin so; load- and swap-DRIVER are the models
  npm run check -- leaks --list`;

const OPTIONS = {
  count: { type: "string", default: "4000" },
  cycles: { type: "string", default: "30" },
  list: { type: "boolean" },
  help: { type: "boolean" },
} as const;
const { values: flags, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
/** Requests before the first measurement, as many as are measured up to these: pools and caches are full then. */
const WARM_UP_REQUESTS = 20_000;
/** The verdict where a runtime is not there. */
const LEFT_OUT = "left out";
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
  for (const form of SERVER_FORMS) {
    const own = kinds.filter((kind) => kind.form === form);
    if (own.length > 0) await withLeakServer(form, (server, file) => askAll(own, server, { file, tell }));
  }
  for await (const cells of loadCycles(Number(flags.cycles), isChosen)) tell(cells);
  console.log(tableLines(rows).join("\n"));
  return rows.slice(1).every((cells) => ["ok", LEFT_OUT].includes(cells.at(-1) as string)) ? 0 : 1;
}

interface Telling {
  /** The file of the server's instrument. */
  readonly file: string;
  readonly tell: (cells: readonly string[]) => void;
}

async function askAll(kinds: readonly LeakKind[], server: LeakServer, { file, tell }: Telling): Promise<void> {
  for (const kind of kinds) {
    if (!(await isServed(kind, server))) {
      tell([kind.name, "0", "", "", "", "", "", LEFT_OUT]);
      continue;
    }
    const began = performance.now();
    const count = Math.min(kind.maxCount ?? Number.POSITIVE_INFINITY, Number(flags.count));
    const wrong = new Set<string>();
    const send = async (requests: number) => {
      for (const status of await sendMany(kind, server, requests)) wrong.add(status);
      return holdingsOf(server.pid, file);
    };
    const half = Math.ceil(count / 2);
    const warmedUp = await send(Math.min(count, WARM_UP_REQUESTS));
    const { held, grown } = await measureHalves(warmedUp, () => send(half), half);
    const problems = [...grown, ...[...wrong].map((status) => `answers ${status}`)];
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    tell([kind.name, String(count), ...cellsOf(held, half), seconds, problems.join(", ") || "ok"]);
  }
}

/** False for a model that could not be loaded, for want of its runtime. */
async function isServed({ model }: LeakKind, { http }: LeakServer): Promise<boolean> {
  return model === undefined || (await fetch(`${http}/v2/models/${model}/ready`)).ok;
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
