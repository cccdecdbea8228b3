import { type FoundRuntime, listRuntimes, type RuntimeReport } from "../../runtimes/list-runtimes.ts";
import type { Finding } from "./finding.ts";

/**
 * Loads every runtime in a process of its own. A runtime that is not there is no problem, one that does not load is.
 */
export async function checkRuntimes(
  list: () => Promise<readonly RuntimeReport[]> = listRuntimes,
): Promise<readonly Finding[]> {
  return (await list()).map(toFinding);
}

function toFinding({ title, found, install }: RuntimeReport): Finding {
  const used = found.find(({ isUsed }) => isUsed);
  const fix = install === undefined ? {} : { fix: install };
  if (used?.problem !== undefined) {
    const state = used.version === undefined ? "problem" : "warning";
    return { check: title, state, text: `${placeOf(used)}: ${used.problem}`, ...fix };
  }
  if (used !== undefined)
    return { check: title, state: "ok", text: `${used.version ?? ""} of ${placeOf(used)}`.trim() };
  const [broken] = found;
  if (broken?.problem !== undefined)
    return { check: title, state: "warning", text: `${placeOf(broken)}: ${broken.problem}`, ...fix };
  return { check: title, state: "ok", text: `not installed${install === undefined ? "" : `; ${install}`}` };
}

function placeOf({ source, path }: FoundRuntime): string {
  return path === undefined ? source : `${source} (${path})`;
}
