import { execFileSync } from "node:child_process";
import { openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";

/** Text that the secrets of the test begin with; the rest of a secret is in no file. */
const SECRET = /canary-[\da-f]{16}\w*/g;

/** Places in which user code finds secrets, each with what it found; `top` is the process that was started first. */
export function look(top: number): string[] {
  const found = [...inText("process.env", JSON.stringify(process.env))];
  found.push(...inText("argv", JSON.stringify([process.argv, process.execArgv, process.title])));
  found.push(...inText("report", JSON.stringify(process.report.getReport())));
  found.push(...inText("child", execFileSync("/usr/bin/env", { encoding: "latin1" })));
  for (const pid of family(top)) {
    const who = pid === process.pid ? "own" : "other";
    for (const name of ["environ", "cmdline", "comm"])
      found.push(...inText(`${who} ${name}`, read(`/proc/${pid}/${name}`)));
    if (who === "other" && isReadable(pid)) found.push("other mem");
    if (who === "other" && linkOf(`/proc/${pid}/fd/1`) !== "") found.push("other fd");
  }
  if (mayReadOthers()) found.push("rights");
  if (holdsListener()) found.push("listening socket");
  return [...new Set(found)].sort();
}

/** CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON: what it has, and what its children may have. */
function mayReadOthers(): boolean {
  const rights = [...read("/proc/thread-self/status").matchAll(/^Cap(?:Eff|Bnd):\s*([\da-f]+)$/gm)];
  return rights.some(([, text]) => [19n, 21n, 38n].some((right) => (BigInt(`0x${text}`) >> right) & 1n));
}

/** A socket of this process takes connections by TCP: state 0A in the table of the kernel. */
function holdsListener(): boolean {
  const tables = `${read("/proc/net/tcp")}${read("/proc/net/tcp6")}`;
  const listening = new Set(Array.from(tables.matchAll(/ 0A (?:\S+ +){5}(\d+)/g), ([, inode]) => `socket:[${inode}]`));
  return readdirSync("/proc/self/fd").some((fd) => listening.has(linkOf(`/proc/self/fd/${fd}`)));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function inText(place: string, text: string): string[] {
  return (text.match(SECRET) ?? []).map((secret) => `${place}: ${secret.replace(/.*-[\da-f]{16}/, "")}`);
}

/** All processes that `top` has started, and itself. */
function family(top: number): number[] {
  const parents = new Map(
    readdirSync("/proc").flatMap((name) => {
      const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : "";
      return stat === "" ? [] : [[Number(name), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0])] as const];
    }),
  );
  const members = new Set([top]);
  for (const member of members) for (const [pid, parent] of parents) if (parent === member) members.add(pid);
  return [...members];
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function isReadable(pid: number): boolean {
  try {
    const start = Number.parseInt(readFileSync(`/proc/${pid}/maps`, "latin1"), 16);
    return readSync(openSync(`/proc/${pid}/mem`, "r"), Buffer.alloc(16), 0, 16, start) > 0;
  } catch {
    return false;
  }
}
