import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { FuzzJob, FuzzMessage } from "../test/fuzz/coverage-target.ts";
import { buildInstrumented } from "../test/fuzz/instrument.ts";

/** Flags of `npm run check -- fuzz`. */
export interface FollowRequest {
  readonly minutes: number;
  readonly seed: number;
  readonly only: string;
  readonly keeps: boolean;
  readonly replay?: string | undefined;
}

type Begun = FuzzMessage & { readonly kind: "begun" };
type FollowedMessage = FuzzMessage & { readonly kind: "followed" };

const ENTRY = fileURLToPath(new URL("../test/fuzz/coverage-target.ts", import.meta.url));
const KEPT = fileURLToPath(new URL("../test/fixtures/fuzz/kept-inputs.json", import.meta.url));
/** In the checkout, so that packages are found from there. */
const FOLDER = resolve(".cache/fuzz");
const [TARGET, CURRENT, FINDINGS] = ["target.mjs", "current", "findings"].map((name) => join(FOLDER, name)) as [
  string,
  string,
  string,
];
/** An input that takes longer is a finding. Damaged HDF5 files take their time for each question. */
const LONGEST_MS = 60_000;
const LOOK_MS = 2000;
const MAX_GROWTH_MB = 64;
const NODE = ["--enable-source-maps", "--max-old-space-size=1024"];

/**
 * Follows the branches of all decoders, or of those with a part of a name, in a process that may end, and prints a row
 * for each; gives the number of inputs for which one failed, which are written to files.
 */
export async function followDecoders(request: FollowRequest): Promise<number> {
  mkdirSync(FINDINGS, { recursive: true });
  await buildInstrumented(ENTRY, TARGET);
  const { minutes, seed, only, keeps, replay } = request;
  const run = new FollowRun();
  const job = { ms: minutes * 60_000, seed, only, keeps, current: CURRENT, from: 0 };
  if (replay !== undefined) return (await run.go({ ...job, replay: resolve(replay) })) === undefined ? 0 : 1;
  console.log(HEAD.map(pad).join(""));
  for (let from: number | undefined = 0; from !== undefined; ) from = await run.go({ ...job, from });
  if (keeps) keep(run.kept);
  return run.findings;
}

class FollowRun {
  readonly kept = new Map<string, readonly string[]>();
  findings = 0;
  #begun: Begun | undefined;

  /** Runs a process to its end; resolves with the number of the decoder to go on with where it ended too early. */
  async go(job: FuzzJob): Promise<number | undefined> {
    this.#begun = undefined;
    const child = fork(TARGET, [JSON.stringify(job)], { execArgv: NODE });
    child.on("message", (message: FuzzMessage) => {
      if (message.kind === "begun") this.#begun = message;
      else this.#take(message);
    });
    let isLate = false;
    const timer = setInterval(() => {
      const isReading = this.#begun !== undefined || job.replay !== undefined;
      const { mtimeMs = Date.now() } = statSync(CURRENT, { throwIfNoEntry: false }) ?? {};
      if (isReading && Date.now() - mtimeMs > LONGEST_MS) isLate = child.kill("SIGKILL");
    }, LOOK_MS);
    const [code, signal] = await new Promise<[number | null, string | null]>((done) =>
      child.once("exit", (...how) => done(how)),
    );
    clearInterval(timer);
    if (code === 0) return undefined;
    const how = isLate ? `took more than ${LONGEST_MS / 1000} s` : `ended the process: ${signal ?? `code ${code}`}`;
    return this.#end(how, job);
  }

  /** Gives the number of the decoder behind the one that has ended the process. */
  #end(how: string, { replay }: FuzzJob): number {
    const begun = this.#begun;
    if (begun !== undefined) this.#find(how, readCurrent());
    else if (replay === undefined) throw new Error("The process ended before its first input; see what it printed.");
    return (begun?.index ?? 0) + 1;
  }

  #take({ followed, findings, grownMb, kept }: FollowedMessage): void {
    const { name, runs, taken, reached, branches, slowestUs } = followed;
    const share = `${reached} of ${branches}`;
    console.log(
      [name, runs, taken, share, slowestUs.toFixed(2), grownMb.toFixed(1), findings.length].map(pad).join(""),
    );
    for (const { what, input } of findings) this.#find(what, Buffer.from(input, "base64"));
    if (grownMb > MAX_GROWTH_MB) this.#find(`its memory grew by ${grownMb.toFixed(0)} MB`, Buffer.alloc(0));
    if (kept !== undefined) this.kept.set(name, kept);
  }

  #find(what: string, input: Buffer): void {
    const { name, prefix } = this.#begun as Begun;
    const file = join(FINDINGS, `${prefix}${createHash("sha256").update(input).digest("hex").slice(0, 8)}`);
    writeFileSync(file, input);
    this.findings++;
    console.log(`FINDING: ${name} ${what}\n  npm run check -- fuzz --replay ${file}`);
  }
}

const HEAD = ["decoder", "runs", "taken", "branches", "µs/byte", "MB grown", "findings"];
const WIDTHS = [36, 10, 10, 16, 10, 10, 8];

function pad(cell: string | number, column: number): string {
  return String(cell).padEnd(WIDTHS[column] as number);
}

/** The input that was being read: its length stands before it. */
function readCurrent(): Buffer {
  const all = readFileSync(CURRENT);
  rmSync(CURRENT);
  return all.length < 4 ? all : all.subarray(4, 4 + all.readUInt32LE());
}

/** Writes the kept inputs of decoders in place of those before. */
function keep(kept: ReadonlyMap<string, readonly string[]>): void {
  const all: Record<string, readonly string[]> = {
    ...JSON.parse(readFileSync(KEPT, "utf8")),
    ...Object.fromEntries(kept),
  };
  const names = Object.keys(all).filter((name) => (all[name] ?? []).length > 0);
  const sorted = Object.fromEntries(names.sort().map((name) => [name, all[name]]));
  writeFileSync(KEPT, `${JSON.stringify(sorted, null, 1)}\n`);
}
