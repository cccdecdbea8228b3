/**
 * Entry of a process that follows the branches of decoders, or reads one input; `scripts/fuzz.ts` builds and starts it.
 */
import { openSync, readFileSync, writevSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Random } from "../grpc/random.ts";
import { Coverage } from "./coverage.ts";
import type { Decoder } from "./decoder.ts";
import { createDecoders } from "./decoders.ts";
import { fileDecoders } from "./file-decoders.ts";
import { type Followed, follow, textOf } from "./follow.ts";
import { feed } from "./fuzz.ts";
import { costOf, growthOf } from "./growth.ts";
import { hdf5Decoder } from "./hdf5-decoder.ts";
import { keptInputs } from "./kept-inputs.ts";
import { leastInputs } from "./least-inputs.ts";
import { usedMb } from "./used-mb.ts";

/** Task of such a process. */
export interface FuzzJob {
  /** Milliseconds for all decoders. */
  readonly ms: number;
  readonly seed: number;
  /** A part of the names of decoders. */
  readonly only: string;
  /** Decoders that were done before. */
  readonly from: number;
  /** Looks for the least inputs to keep. */
  readonly keeps: boolean;
  /** A file that holds the input which is read, behind its length. */
  readonly current: string;
  /** A file with an input to read, and nothing else, whose name begins as the decoder is called. */
  readonly replay?: string;
}

/** Messages that it sends meanwhile. */
export type FuzzMessage =
  /** `prefix`: how files with inputs of the decoder begin. */
  | { readonly kind: "begun"; readonly name: string; readonly index: number; readonly prefix: string }
  | {
      readonly kind: "followed";
      readonly followed: Omit<Followed, "findings" | "corpus">;
      readonly grownMb: number;
      /** In base64. */
      readonly findings: readonly { readonly what: string; readonly input: string }[];
      readonly kept: readonly string[] | undefined;
    };

/** Share of the time in which the inputs to keep are made shorter. */
const KEEP_SHARE = 0.5;
const LENGTH_BYTES = 4;
const SLOW_PARTS = 8;
const SETTLING_MS = 50;

const job: FuzzJob = JSON.parse(process.argv[2] ?? "{}");
const program = process.argv[1] as string;
const coverage = () => new Coverage(JSON.parse(readFileSync(`${program}.json`, "utf8")));
const current = openSync(job.current, "w");
const decoders = [...(await createDecoders()), ...(await fileDecoders()), hdf5Decoder()];
if (job.replay === undefined) await followAll();
else await replay(job.replay);
process.exit();

function note(input: Buffer): void {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(input.length);
  writevSync(current, [length, input], 0);
}

async function followAll(): Promise<void> {
  const chosen = decoders.filter(({ name }) => name.includes(job.only));
  if (chosen.length === 0) throw new Error(`No decoder has "${job.only}" in its name.`);
  const all = chosen.reduce((sum, decoder) => sum + partsOf(decoder), 0);
  for (const [index, decoder] of chosen.entries()) {
    if (index < job.from) continue;
    await say({ kind: "begun", name: decoder.name, index, prefix: prefixOf(decoder) });
    await say(await followOne(decoder, (job.ms * partsOf(decoder)) / all));
  }
}

/** Slow ones get more of the time. */
function partsOf({ maxMs }: Decoder): number {
  return maxMs === undefined ? 1 : SLOW_PARTS;
}

async function followOne(decoder: Decoder, ms: number): Promise<FuzzMessage> {
  const counted = coverage();
  // What is loaded and kept for the first input is no growth.
  for (const sample of decoder.samples) {
    note(sample);
    await feed(decoder, sample);
  }
  const before = usedMb();
  const end = performance.now() + ms;
  const isDone = () => performance.now() > end;
  const { corpus, findings, ...followed } = await follow(decoder, {
    ...{ random: new Random(job.seed), coverage: counted, isDone, note },
  });
  const latest = performance.now() + ms * KEEP_SHARE;
  const inputs = [...keptInputs(decoder.name), ...corpus];
  const kept = job.keeps ? await leastInputs(decoder, inputs, counted, () => performance.now() > latest) : undefined;
  // What an input has left for later is done, and gone.
  await setTimeout(SETTLING_MS);
  const bytes = corpus.reduce((sum, { length }) => sum + length, 0);
  return {
    ...{ kind: "followed", followed, grownMb: usedMb() - before - bytes / 1e6 },
    findings: findings.map(({ what, input }) => ({ what, input: input.toString("base64") })),
    kept: kept?.map((input) => input.toString("base64")),
  };
}

/** Ends with 1 where the input is neither read nor refused in words in its time. */
async function replay(path: string): Promise<void> {
  const decoder = decoders.find((one) => basename(path).startsWith(prefixOf(one)));
  if (decoder === undefined) throw new Error(`No decoder's name begins as ${basename(path)} does.`);
  const input = readFileSync(path);
  note(input);
  try {
    print(`${decoder.name}: ${(await feed(decoder, input)) ? "read" : "refused"}`);
    const cost = (longer: Buffer) => costOf(() => feed(decoder, longer).catch(() => {}));
    print(`${(await cost(input)).toFixed(1)} ms for ${input.length} bytes`);
    const growth = await growthOf(input, new Random(1), cost);
    if (growth !== undefined) throw new Error(`repeated, it costs ${growth.costs} ms, each for twice the bytes`);
  } catch (reason) {
    print(`${decoder.name}: ${textOf(reason)}`);
    process.exitCode = 1;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function prefixOf({ name }: Decoder): string {
  return `${name.replaceAll(/\W+/g, "-")}.`;
}

function say(message: FuzzMessage): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()));
}
