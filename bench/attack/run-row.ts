import { setTimeout as wait } from "node:timers/promises";
import type { AttackResult, AttackRow, ServerKind } from "./attack-row.ts";
import { AttackedServer } from "./attacked-server.ts";
import { Neighbour } from "./neighbour.ts";
import type { NeighbourReport } from "./neighbour-report.ts";

const WARM_UP_MS = 400;
const BASELINE_MS = 400;
const SETTLE_MS = 300;
/** A row that takes longer is broken off. */
const LIMIT_MS = 60_000;
const MAX_WAIT_MS = 50;
const BUDGET_MB = 512;
const MAX_PEAK_MB = BUDGET_MB * 1.25 + 300;
/** Models and hooks that an attack keeps busy are no concern of a row; all else that the server answers is. */
const BUSY: readonly ServerKind[] = ["inline-images", "thread-images", "hook-images", "hostile-hooks"];

/** Results of one run of a row. */
export interface RowResult {
  readonly baseline: NeighbourReport;
  readonly others: NeighbourReport;
  readonly peakMb: number;
  readonly seconds: number;
  readonly got: string;
  /** The reasons why the row failed; empty = it passed. */
  readonly problems: readonly string[];
  /** True where a failure may come from the machine's other work. */
  readonly isNoisy: boolean;
}

/** Runs a row against a fresh server. */
export async function runRow(row: AttackRow): Promise<RowResult> {
  const attack = await row.prepare();
  const server = await AttackedServer.start(row);
  const asks = BUSY.includes(row.server) ? "live" : "infer";
  const neighbour = await Neighbour.start({ ...server.target, asks });
  // The first request of a user whose password has to be checked takes longer.
  do await wait(WARM_UP_MS);
  while ((await neighbour.report()).requests === 0);
  await wait(BASELINE_MS);
  const baseline = await neighbour.report();
  const began = performance.now();
  const { got, problem } = await limited(attack(server.target), server);
  const seconds = (performance.now() - began) / 1000;
  await wait(SETTLE_MS);
  const others = await neighbour.report();
  const { peakMb, end } = server;
  await neighbour.stop();
  const stopping = await server.stop();
  const wrong = [problem, end ?? stopping].filter((text) => text !== undefined);
  const problems = [...oracle(others, peakMb, row), ...wrong];
  return { baseline, others, peakMb, seconds, got, problems, isNoisy: wrong.length === 0 };
}

async function limited(attack: Promise<AttackResult>, server: AttackedServer): Promise<AttackResult> {
  const timer = new AbortController();
  const late = wait(LIMIT_MS, undefined, { signal: timer.signal }).then(() => {
    server.kill(`killed after ${LIMIT_MS / 1000} s`);
    return { got: "nothing" };
  });
  late.catch(() => {});
  const ended = attack.catch((reason: Error) => ({ got: "", problem: reason.message }));
  try {
    return await Promise.race([ended, late]);
  } finally {
    timer.abort();
  }
}

function oracle(others: NeighbourReport, peakMb: number, { maxWaitMs = MAX_WAIT_MS, mayLose }: AttackRow): string[] {
  const { longestMs, longestOwnMs, longestBusyMs, failures } = others;
  const problems: string[] = [];
  const waited = mayLose === undefined ? Math.min(longestOwnMs, longestBusyMs) : longestMs;
  if (waited > maxWaitMs) problems.push("wait");
  if (peakMb > MAX_PEAK_MB) problems.push("memory");
  if (failures.length > (mayLose ?? 0)) problems.push(`others failed: ${[...new Set(failures)].join(", ")}`);
  return problems;
}
