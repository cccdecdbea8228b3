import { setTimeout as wait } from "node:timers/promises";
import type { AttackResult, AttackRow } from "./attack-row.ts";
import type { AttackedServer } from "./attacked-server.ts";
import type { Configuration } from "./configuration.ts";
import { Neighbour } from "./neighbour.ts";
import type { NeighbourReport, NeighbourReports, WayName } from "./neighbour-report.ts";
import { hasLogins, loginBy, modelOf } from "./server-arguments.ts";
import { WAYS } from "./ways.ts";

const WARM_UP_MS = 400;
const BASELINE_MS = 400;
const SETTLE_MS = 300;
/** A row that takes longer is broken off. */
const LIMIT_MS = 60_000;
const BUDGET_MB = 512;
/** With the other clients alone, whose requests are of up to 1 MB, the server comes to 350 to 440 MB. */
const MAX_PEAK_MB = BUDGET_MB * 1.25 + 500;
const SIZES: readonly WayName[] = ["1 KB", "64 KB", "1 MB"];

/** Results of one run of a row. */
export interface RowResult {
  readonly configuration: Configuration;
  readonly baseline: NeighbourReports;
  readonly others: NeighbourReports;
  readonly peakMb: number;
  readonly seconds: number;
  readonly got: string;
  /** The reasons why the row failed; empty = it passed. */
  readonly problems: readonly string[];
  /** True where a failure may come from the machine's other work. */
  readonly isNoisy: boolean;
}

/** The clients that suffer: one process for tiny requests, one for all others. */
export class Neighbours {
  readonly #tiny: Neighbour;
  readonly #others: Neighbour;
  #asked: AttackedServer | undefined;

  private constructor(tiny: Neighbour, others: Neighbour) {
    this.#tiny = tiny;
    this.#others = others;
  }

  static async start(): Promise<Neighbours> {
    return new Neighbours(await Neighbour.start(), await Neighbour.start());
  }

  /** Asks a row's server, until {@link end}; resolves once it has answered. */
  async begin(attacked: AttackedServer, { server }: AttackRow): Promise<void> {
    if (this.#asked === attacked) return;
    this.#asked = attacked;
    const { target } = attacked;
    const job = { ...target, model: modelOf(server), login: loginBy(server) };
    const others: WayName[] = [...SIZES, ...(hasLogins(server) ? ["login" as const] : [])];
    this.#tiny.begin({ ...job, ways: ["tiny"] });
    this.#others.begin({ ...job, ways: others });
    // The first requests of each kind take longer.
    const served = new Set<string>();
    let names: readonly string[] = [];
    do {
      await wait(WARM_UP_MS);
      const reports = Object.entries(await this.report());
      names = reports.map(([name]) => name);
      for (const [name, { requests }] of reports) if (requests > 0) served.add(name);
    } while (served.size < names.length);
  }

  /** Waits since the last call. */
  async report(): Promise<NeighbourReports> {
    const [tiny, others] = await Promise.all([this.#tiny.report(), this.#others.report()]);
    return { ...others, ...tiny };
  }

  end(): void {
    this.#asked = undefined;
    this.#tiny.end();
    this.#others.end();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#tiny.stop(), this.#others.stop()]);
  }
}

/** A row, ready to be run against a fresh server. */
export interface PreparedRow {
  readonly row: AttackRow;
  readonly configuration: Configuration;
  readonly server: AttackedServer;
}

/** Runs a row; the server is still there then, and others ask it. */
export async function runRow({ row, configuration, server }: PreparedRow, neighbours: Neighbours): Promise<RowResult> {
  const attack = await row.prepare();
  await neighbours.begin(server, row);
  await wait(BASELINE_MS);
  const baseline = await neighbours.report();
  const began = performance.now();
  const { got, problem } = await limited(attack(server.target), server);
  const seconds = (performance.now() - began) / 1000;
  await wait(SETTLE_MS);
  const others = await neighbours.report();
  const { peakMb, end } = server;
  const wrong = [problem, end].filter((text) => text !== undefined);
  const problems = [...oracle(others, peakMb, row), ...wrong];
  return { configuration, baseline, others, peakMb, seconds, got, problems, isNoisy: wrong.length === 0 };
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

function oracle(others: NeighbourReports, peakMb: number, row: AttackRow): string[] {
  const all = Object.entries(others);
  const waiting = all.filter(([name, report]) => waitsTooLong(name, report, row)).map(([name]) => name);
  const failing = all.filter(([, { failures }]) => failures.length > (row.mayLose ?? 0));
  const texts = new Set(failing.flatMap(([, { failures }]) => failures));
  const names = failing.map(([name]) => name);
  const refused = row.neverRefusesOthers === true ? all.filter(([, report]) => report.refused > 0) : [];
  return [
    ...(waiting.length > 0 ? [`wait of ${waiting.join(", ")}`] : []),
    ...(names.length > 0 ? [`others failed by ${[...texts].join(", ")}: ${names.join(", ")}`] : []),
    ...(refused.length > 0 ? [`others refused: ${refused.map(([name]) => name).join(", ")}`] : []),
    ...(peakMb > MAX_PEAK_MB ? ["memory"] : []),
  ];
}

function waitsTooLong(name: string, report: NeighbourReport, { maxWaitMs = 0, mayLose }: AttackRow): boolean {
  const { longestMs, longestOwnMs, longestBusyMs } = report;
  const way = name.slice(0, name.lastIndexOf(" ")) as WayName;
  const served = way === "tiny" ? Math.min(longestOwnMs, longestBusyMs) : longestOwnMs;
  const waited = mayLose === undefined ? served : longestMs;
  return waited > Math.max(maxWaitMs, WAYS[way].maxWaitMs);
}
