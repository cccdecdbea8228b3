import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { Random } from "../grpc/random.ts";
import { makeTar, withSums } from "../storage/runtimes/make-tarball.ts";
import { Coverage } from "./coverage.ts";
import type { Decoder } from "./decoder.ts";
import { follow } from "./follow.ts";
import { growthOf } from "./growth.ts";
import { buildInstrumented } from "./instrument.ts";
import { leastInputs } from "./least-inputs.ts";

/** Four bytes, each behind the one before, of which none stands in the source. */
const RIGHT = [107, 196, 34, 123];
const PLANTED = `
export function decode(bytes: Uint8Array): void {
  for (let right = 0; bytes[right] === (right * 89 + 107) % 251; right++) {
    if (right === 0) first();
    if (right === 1) second();
    if (right === 2) third();
    if (right === 3) throw new TypeError("planted");
  }
}
const [first, second, third] = [() => 1, () => 2, () => 3];
`;
const RUNS = 20_000;

/** A decoder of bytes, built from a source. */
async function build(source: string): Promise<{ decode: (bytes: Buffer) => unknown; coverage: Coverage }> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-follow-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [entry, outfile] = [join(folder, "src", "planted.ts"), join(folder, "planted.mjs")];
  mkdirSync(join(folder, "src"));
  writeFileSync(entry, source);
  await buildInstrumented(entry, outfile);
  const { decode } = await import(/* @vite-ignore */ pathToFileURL(outfile).href);
  return { decode, coverage: new Coverage(JSON.parse(readFileSync(`${outfile}.json`, "utf8"))) };
}

function decoderOf(decode: Decoder["decode"]): Decoder {
  return { name: "a planted fault", samples: [Buffer.from("a sample")], decode };
}

describe("a fuzzer that follows branches", () => {
  it("finds what lies behind bytes that have branches of their own, and where it fails", async () => {
    const { decode, coverage } = await build(PLANTED);
    const isDone = (runs: number) => runs >= RUNS;
    const { findings } = await follow(decoderOf(decode), { random: new Random(7), coverage, isDone });
    expect(findings).toEqual([
      { what: expect.stringContaining("TypeError: planted"), input: expect.toSatisfy(beginsRight) },
    ]);
  });

  it("finds nothing there in as many runs where it sees no branch", async () => {
    const { decode, coverage } = await build(PLANTED);
    coverage.end = () => ({ isNew: false, first: [], steps: 0 });
    const isDone = (runs: number) => runs >= RUNS;
    const { findings } = await follow(decoderOf(decode), { random: new Random(7), coverage, isDone });
    expect(findings).toEqual([]);
  });

  it("keeps of its inputs the bytes that reach what the samples do not", async () => {
    const { decode, coverage } = await build(PLANTED);
    const [one, two, three] = RIGHT as [number, number, number];
    const inputs = [[one, two, three, 0, 0, 0, 0], [one, two, 9, 9], [9]].map((bytes) => Buffer.from(bytes));
    const least = await leastInputs(decoderOf(decode), inputs, coverage, () => false);
    expect(least.map((input) => [...input])).toEqual([RIGHT.slice(0, 2), RIGHT.slice(0, 3)]);
  });
});

function beginsRight(input: Buffer): boolean {
  return RIGHT.every((byte, index) => input[index] === byte);
}

/** Each kind of branch, with and without braces; the text says what was taken. */
const BRANCHES = `
class Base { constructor(readonly base = "b") {} }
class Derived extends Base { constructor(x?: string) { super(x ?? "d"); } }
const pick = (n: number): { a: number } => ({ a: n > 1 ? (n > 2 ? 3 : 2) : 1 });
function each(n: number, { add = 1 }: { add?: number } = {}): string {
  const out: unknown[] = [];
  if (n === 0) return "none"
  if (n === 1) out.push("one"); else if (n === 2) out.push("two"); else out.push("more");
  if (n > 1) if (n > 2) out.push("big"); else out.push("small");
  outer: for (let i = 0; i < 3; i++) for (const j of [0, 1]) if (j === n) continue outer; else out.push(i + j);
  for (const key in { x: 1, y: 2 }) out.push(key)
  let left = n; while (left > 0) left--; do left++; while (left < 2)
  switch (n) { case 1: case 2: out.push("few"); break; case 3: { out.push("three"); } default: out.push("rest"); }
  try { if (n > 2) throw new Error("x"); out.push((n > 1 && pick(n)) || "or", undefined ?? (() => n)()); } catch { out.push("caught"); } finally { out.push(left); }
  return JSON.stringify([out, pick(n), new Derived().base, new Derived("e").base, add]);
}
async function* parts(n: number) { for (let i = 0; i < n; i++) yield await (i > 0 ? i : -1); }
export async function decode(bytes: Uint8Array): Promise<string> {
  const all: unknown[] = [];
  for await (const part of parts(bytes[0] as number)) all.push(part);
  return each(bytes[0] as number, bytes[0] === 2 ? { add: 5 } : undefined) + all;
}
`;

describe("a program whose branches are counted", () => {
  it("does what it does without", async () => {
    const { decode, coverage } = await build(BRANCHES);
    const taken = new Set<number>();
    const answers: unknown[] = [];
    for (const byte of [0, 1, 2, 3]) {
      coverage.begin();
      answers.push(await decode(Buffer.of(byte)));
      for (const branch of coverage.taken()) taken.add(branch);
      expect(coverage.end().isNew).toBe(true);
    }
    expect(answers).toEqual([
      "none",
      '[["one",0,1,2,"x","y","few","or",1,2],{"a":1},"d","e",1]-1',
      '[["two","small",0,1,1,2,2,3,"x","y","few",{"a":2},2,2],{"a":2},"d","e",5]-1,1',
      '[["more","big",0,1,1,2,2,3,"x","y","three","rest","caught",2],{"a":3},"d","e",1]-1,1,2',
    ]);
    const [reached] = coverage.reached();
    expect(reached?.taken).toBe(taken.size);
    expect(reached?.file.values).toEqual(expect.arrayContaining(["two", "add", 3]));
  });
});

describe("the growth of a cost", () => {
  const cost = (power: number) => async (input: Buffer) => (input.length / 1024) ** power;

  it("is told where twice the length costs four times as much, and not where it costs twice as much", async () => {
    const [sample, random] = [Buffer.from("[1, 2]"), new Random(1)];
    const growth = await growthOf(sample, random, cost(2));
    expect(growth?.costs.map(Math.round)).toEqual([1024, 4096, 16_385, 65_537]);
    expect(growth?.input.subarray(0, 12).toString()).toBe("[1, 2][1, 2]");
    expect(await growthOf(sample, random, cost(1))).toBeUndefined();
  });
});

it("an archive that was changed gets its sums again", () => {
  const tar = makeTar([
    { name: "a", text: "x".repeat(600) },
    { name: "b", text: "" },
  ]);
  const changed = Buffer.from(tar);
  for (const at of [148, 148 + 3 * 512]) changed.write("77", at);
  expect(withSums(changed).equals(tar)).toBe(true);
});
