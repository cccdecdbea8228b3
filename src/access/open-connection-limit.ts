import { ConnectionLimit, type ConnectionProblem } from "../platform/limits/connection-limit.ts";
import type { ThreadCounts } from "../platform/limits/thread-counts.ts";
import { networkOf } from "./network-address.ts";
import { onceInAWhile } from "./once-in-a-while.ts";

interface WarningLog {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The limit of connections, 0 = none; each kind of problem is logged once a minute. */
export function openConnectionLimit(max: number, log: WarningLog, counts?: ThreadCounts): ConnectionLimit {
  const warn = (problem: ConnectionProblem) => log.warn(textOf(problem));
  const warnOf: Record<ConnectionProblem["kind"], typeof warn> = {
    full: onceInAWhile(warn),
    shared: onceInAWhile(warn),
    side: onceInAWhile(warn),
    descriptors: onceInAWhile(warn),
    accept: onceInAWhile(warn),
  };
  return new ConnectionLimit({
    max,
    onProblem: (problem) => warnOf[problem.kind](problem),
    clientOf: networkOf,
    counts,
  });
}

function textOf(problem: ConnectionProblem): string {
  if (problem.kind === "accept") return `a connection cannot be accepted: ${problem.error.message}`;
  if (problem.kind === "full" || problem.kind === "shared") {
    const deed =
      problem.kind === "full" ? "connections are refused" : "the client that has most loses idle connections";
    return `${deed}: there are ${problem.open}, the most that the server may have (--max-connections)`;
  }
  if (problem.kind === "side")
    return `connections of the port for administration, of that for metrics or of the Unix socket are refused: ${problem.open} are busy, the most that it may have`;
  const { max, hasEnded } = problem;
  const deed = hasEnded ? "idle connections are ended" : "connections are refused";
  return `${deed}: of ${max} descriptors that the process may have (ulimit -n), only those are left that files and models need`;
}
