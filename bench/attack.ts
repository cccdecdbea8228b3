import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { tableLines } from "../test/helpers/table.ts";
import type { AttackRow, ServerKind } from "./attack/attack-row.ts";
import { ATTACK_ROWS } from "./attack/attack-rows.ts";
import { AttackedServer } from "./attack/attacked-server.ts";
import { CONFIGURATIONS, type Configuration, configurationsOf, usualConfiguration } from "./attack/configuration.ts";
import { type Figures, figuresOf, toCells } from "./attack/figures.ts";
import { attackLong } from "./attack/long-attack.ts";
import { Neighbours, type PreparedRow, runRow } from "./attack/run-row.ts";

const HELP = `Attacks the real program, over loopback, while other clients at other addresses ask it, and prints for each hostile request how
long those waited and how much memory the server took. Beside each attack go, over HTTP and gRPC: tiny requests, requests of 1 KB, 64 KB
and 1 MB, and first logins of users. A row passes when no tiny request waited longer than 50 ms for a server that was busy, none of
1 KB longer than 0.5 s, of 64 KB than 1 s, of 1 MB than 3 s and no login than 2 s until it was served, however often it was refused;
the server never took more than its budget of 512 MB × 1.25 + 500 MB; and nothing broke. Rows in one configuration share a
server where they cannot change it, and a row that failed there or by a figure runs once more, against its own. The server's ports are plain or
encrypted, with or without --listeners 2: each row has its usual one of these four configurations.
Rows cve-NUMBER are known vulnerabilities of HTTP/2 servers, and fail where the server's code is not that of RFC 9113.

  npm run check -- attack                         all rows
  npm run check -- attack NAME...                 the rows whose names begin so
  npm run check -- attack --list                  their names
  npm run check -- attack --configuration tls     in plain, tls, listeners or tls-listeners, as far as a row can be
  npm run check -- attack --all                   each row in each configuration that it can be in
  npm run check -- attack --minutes 10 NAME...    these rows again and again, against one server of each kind, for so long; passes when no
                                                  request of others is lost, and their 99th percentile is at most twice that without attacks
  npm run check -- attack --figures FILE          beside each figure the one that FILE has of an earlier run; the last ones are written to it

wait      the longest wait of a tiny request in ms, less the time that it or the server's connections had no core
(busy)    the longest time that a thread that has to do with connections computed during one wait; a row fails where both are
          longer than 50 ms
(raw)     the longest wait as a clock shows it
(alone)   the longest wait, less missing cores, during 0.4 s before the attack
1 KB …    the longest wait until a request was served, less missing cores, over HTTP/gRPC
peak      memory that the server had at most (VmHWM), in MB
refused   requests that the server had no room for: tiny ones/all others`;

const HEAD = [
  "row",
  "ports",
  "wait",
  "(busy)",
  "(raw)",
  "(alone)",
  "1 KB",
  "64 KB",
  "1 MB",
  "login",
  "peak",
  "refused",
];

/** Servers that no attack changes, as others may be in their models or whom they shut out. */
const UNCHANGED: readonly ServerKind[] = [
  ...(["null", "texts", "streams", "lane"] as const),
  ...(["inline-images", "thread-images", "hook-images"] as const),
];
/** Attacks whose times are told at the end. */
const MOST_TOLD = 10;
/** Rows that share a server: what they leave of its memory must not add up. */
const MAX_SHARED = 8;

const OPTIONS = {
  list: { type: "boolean" },
  all: { type: "boolean" },
  configuration: { type: "string" },
  figures: { type: "string" },
  minutes: { type: "string" },
  help: { type: "boolean" },
} as const;
const { values: flags, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
const chosen = ATTACK_ROWS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);
if (flags.help) console.log(HELP);
else if (flags.list) for (const { name } of chosen) console.log(name);
else if (flags.minutes !== undefined) process.exitCode = await attackLong(chosen, Number(flags.minutes));
else process.exitCode = await attackAll(chosen.flatMap(toRuns));

interface Run {
  readonly row: AttackRow;
  readonly configuration: Configuration;
  /** True for a row that failed by a figure. */
  readonly isAgain?: boolean;
}

function toRuns(row: AttackRow): Run[] {
  const possible = configurationsOf(row);
  const { configuration: name } = flags;
  if (name !== undefined && !CONFIGURATIONS.some((one) => one.name === name))
    throw new Error(`There is no configuration ${name}; expected ${CONFIGURATIONS.map((one) => one.name).join(", ")}.`);
  if (flags.all) return possible.map((configuration) => ({ row, configuration }));
  const configuration = name === undefined ? usualConfiguration(row) : possible.find((one) => one.name === name);
  return configuration === undefined ? [] : [{ row, configuration }];
}

/** Gives the process's exit code. */
async function attackAll(runs: readonly Run[]): Promise<number> {
  if (runs.length === 0) throw new Error(`No row begins with ${positionals.join(", ")}; --list names them.`);
  endChildrenOnSignal();
  const before = readFigures();
  const after: Record<string, Figures> = {};
  const began = performance.now();
  const lines: string[][] = [];
  const times: { readonly name: string; readonly seconds: number }[] = [];
  const passed = await attackInTurn(runs, (run, result) => {
    times.push({ name: run.row.name, seconds: result.seconds });
    const name = `${run.row.name} ${run.configuration.name}`;
    const cells = [run.isAgain ? `${run.row.name} (again)` : run.row.name, ...toCells(result, before[name])];
    after[name] = figuresOf(result);
    lines.push(cells);
    console.error(cells.join("  "));
  });
  if (flags.figures !== undefined)
    writeFileSync(flags.figures, `${JSON.stringify({ ...before, ...after }, undefined, 1)}\n`);
  console.log(tableLines([[...HEAD, "s", "attacker got", "verdict"], ...lines]).join("\n"));
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const longest = times.sort((a, b) => b.seconds - a.seconds).slice(0, MOST_TOLD);
  console.log(
    `The longest attacks: ${longest.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`).join(", ")}.`,
  );
  console.log(`${passed} of ${runs.length} rows passed, in ${minutes} minutes.`);
  return passed === runs.length ? 0 : 1;
}

type Tell = (run: Run, result: Awaited<ReturnType<typeof runRow>>) => void;

/**
 * Runs the rows, each against the server of the one before if they can share it, else against one that was started
 * while that ended; resolves with how many passed.
 */
async function attackInTurn(runs: readonly Run[], tell: Tell): Promise<number> {
  const neighbours = await Neighbours.start();
  const waiting = [...runs].sort(
    (one, other) =>
      Number(canShare(other)) - Number(canShare(one)) ||
      orderOf(one) - orderOf(other) ||
      one.row.server.localeCompare(other.row.server),
  );
  let passed = 0;
  let shared = 1;
  let next = prepare(waiting.shift());
  for (;;) {
    const run = await next;
    if (run === undefined) break;
    const result = await runRow(run, neighbours);
    const { isNoisy, problems } = result;
    if (problems.length > 0 && (isNoisy || shared > 1) && !run.isAgain) waiting.unshift({ ...run, isAgain: true });
    const following = waiting.shift();
    const isKept = problems.length === 0 && shared < MAX_SHARED && canFollow(run, following) && run.server.forgetPeak();
    shared = isKept ? shared + 1 : 1;
    // Those who go on asking need not begin again.
    if (!isKept) neighbours.end();
    const stopped = isKept ? undefined : run.server.stop();
    next = isKept ? Promise.resolve({ ...following, server: run.server }) : prepare(following);
    const problem = await stopped;
    const all = problem === undefined || problems.includes(problem) ? problems : [...problems, problem];
    if (all.length === 0) passed++;
    tell(run, { ...result, problems: all });
  }
  await neighbours.stop();
  return passed;
}

function canShare({ row, isAgain }: Run): boolean {
  return UNCHANGED.includes(row.server) && isAgain !== true;
}

function canFollow(run: Run, following: Run | undefined): following is Run {
  if (following === undefined || ![run, following].every(canShare)) return false;
  return run.configuration === following.configuration && run.row.server === following.row.server;
}

function orderOf({ configuration }: Run): number {
  return CONFIGURATIONS.indexOf(configuration);
}

async function prepare(run: Run | undefined): Promise<(PreparedRow & Run) | undefined> {
  return run && { ...run, server: await AttackedServer.start(run.row, run.configuration) };
}

function readFigures(): Record<string, Figures> {
  if (flags.figures === undefined || !existsSync(flags.figures)) return {};
  return JSON.parse(readFileSync(flags.figures, "utf8"));
}
