import { parseModelAddress } from "../../client/model-address.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import type { Server } from "../../server/server.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type ExampleInput, guessExamples } from "../../tensor/signature/example-inputs.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { compareParts, type Tolerances } from "../replay/compare-tensors.ts";

/** Answer of one target. */
export interface Answer {
  readonly name: string;
  readonly runtime?: string;
  /** The only part of one that did not come in parts. */
  readonly parts: readonly Tensors[];
  /** Absent = it did not come in parts. */
  readonly inParts?: {
    /** The median of its runs, in milliseconds; absent if it had no part. */
    readonly firstPartMs?: number;
    /** True if it had more parts than are compared. */
    readonly isCut: boolean;
  };
  /** The median of its runs, in milliseconds; absent for a file. */
  readonly ms?: number;
}

/** One output of a target next to that of the reference. */
interface Compared {
  readonly target: string;
  readonly output: string;
  /** Of the elements that differ most; infinite if they cannot be compared. */
  readonly distance: number;
  /** True if it is within the tolerances. */
  readonly isNear: boolean;
  /** Empty if nothing differs. */
  readonly text: string;
}

/** Parts of an answer that are compared at most: it may be endless. */
const MAX_PARTS = 1000;

/** Runs of a target. */
interface Runs {
  /** Those for its speed, after one for its answer. */
  readonly count: number;
  /** True if a model that answers in parts is asked for these; false = for its one answer. */
  readonly inParts: boolean;
}

/** Runs a target once, then so many times for its speed. */
export async function answerOf(target: Target, inputs: Values, { count, inParts }: Runs): Promise<Answer> {
  const { name, runtime } = target;
  const isParted = inParts && target.decoupled;
  const run = isParted ? () => readParts(target, inputs) : () => readWhole(target, inputs);
  const { parts, isCut } = await run();
  const timed: Run[] = [];
  for (let index = 0; index < count; index++) timed.push(await run());
  const ms = median(timed.map((each) => each.ms));
  const firstPartMs = median(timed.flatMap((each) => each.firstPartMs ?? []));
  const times = { ...(firstPartMs !== undefined && { firstPartMs }) };
  return {
    ...{ name, parts },
    ...(runtime !== undefined && { runtime }),
    ...(isParted && { inParts: { ...times, isCut } }),
    ...(ms !== undefined && { ms }),
  };
}

/** One run of a target; times in milliseconds. */
interface Run {
  readonly parts: readonly Tensors[];
  readonly isCut: boolean;
  readonly ms: number;
  readonly firstPartMs?: number | undefined;
}

async function readWhole(target: Target, inputs: Values): Promise<Run> {
  const started = performance.now();
  const parts = [await target.predict(inputs)];
  return { parts, isCut: false, ms: performance.now() - started };
}

async function readParts(target: Target, inputs: Values): Promise<Run> {
  const started = performance.now();
  const parts: Tensors[] = [];
  let firstPartMs: number | undefined;
  let isCut = false;
  for await (const part of target.stream(inputs)) {
    firstPartMs ??= performance.now() - started;
    isCut = parts.length === MAX_PARTS;
    if (isCut) break;
    parts.push(part);
  }
  return { parts, isCut, ms: performance.now() - started, firstPartMs };
}

function median(times: readonly number[]): number | undefined {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}

/** Every output of the other answers next to that of the first, and their numbers of parts. */
export function compareAnswers(
  [reference, ...others]: readonly [Answer, ...Answer[]],
  tolerances: Tolerances,
): readonly Compared[] {
  return others.flatMap((other) => {
    const { name, parts } = other;
    const sides = { first: `from ${reference.name}`, second: `from ${name}` };
    const all = compareParts(reference.parts, parts, new Map(), sides);
    const far = compareParts(reference.parts, parts, tolerances, sides);
    const outputs = Array.from(namesIn([...reference.parts, ...parts]), (output) => {
      const found = far.find((each) => each.output === output) ?? all.find((each) => each.output === output);
      const isNear = far.every((each) => each.output !== output);
      return { target: name, output, distance: found?.distance ?? 0, isNear, text: found?.text ?? "" };
    });
    return [...countOf(reference, other), ...outputs];
  });
}

function namesIn(parts: readonly Tensors[]): ReadonlySet<string> {
  return new Set(parts.flatMap((part) => Object.keys(part)));
}

/** The number of parts of two answers, if one of them came in parts. */
function countOf(reference: Answer, other: Answer): readonly Compared[] {
  if (reference.inParts === undefined && other.inParts === undefined) return [];
  const [first, second] = [reference, other].map(countText) as [string, string];
  const isNear = first === second;
  const text = isNear ? "" : `${first} from ${reference.name}, ${second} from ${other.name}`;
  return [{ target: other.name, output: "(parts)", distance: isNear ? 0 : Number.POSITIVE_INFINITY, isNear, text }];
}

function countText({ parts, inParts }: Answer): string {
  return inParts?.isCut === true ? `more than ${parts.length}` : String(parts.length);
}

/** Facts about an answer for programs. */
export function toPlainAnswer({ parts, inParts, ...answer }: Answer): object {
  return { ...answer, ...(inParts && { ...inParts, decoupled: true, parts: parts.length }) };
}

/** A comparison for people. */
export function toComparisonLines(answers: readonly Answer[], compared: readonly Compared[]): string[] {
  const hasParts = answers.some(({ inParts }) => inParts !== undefined);
  const rows = answers.map((answer) => {
    const { name, ms, runtime = "", inParts } = answer;
    const ofParts = inParts === undefined ? ["-", "-"] : [countText(answer), msText(inParts.firstPartMs)];
    return [name, msText(ms), ...(hasParts ? ofParts : []), runtime];
  });
  const partHeadings = hasParts ? ["Parts", "First part"] : [];
  const outputs = compared.map(({ target, output, isNear, text }) => [
    target,
    output,
    isNear ? (text === "" ? "equal" : "near") : "DIFFERS",
    text,
  ]);
  const others = [["Compared", "Output", "Result", "Greatest difference"], ...outputs];
  return [...toColumns([["Target", "Median", ...partHeadings, "Runtime"], ...rows]), "", ...toColumns(others)];
}

function msText(ms: number | undefined): string {
  return ms === undefined ? "-" : `${Number(ms.toPrecision(3))} ms`;
}

/** Something that answers the inputs of a comparison. */
export interface Target {
  /** For people: a driver, a path, an address. */
  readonly name: string;
  /** The runtime with its version; absent if it is not known. */
  readonly runtime?: string;
  readonly signature: Signature;
  /** True if it answers in parts; false of a server that does not say. */
  readonly decoupled: boolean;
  /** Inputs that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values): Promise<Tensors>;
  /** The parts of its answer; one of a model that answers once. */
  stream(inputs: Values): AsyncIterable<Tensors>;
  close(): Promise<void>;
}

/** A model of a server in this process; `name` is for people. */
export async function openModelTarget(server: Server, model: string, name: string): Promise<Target> {
  const lease = await server.service.acquire({ model });
  lease.release();
  const [stage] = server.stages;
  return {
    name,
    ...(stage?.runtime !== undefined && { runtime: stage.runtime }),
    signature: chooseSignature("", lease.description.signatures)?.spec ?? {},
    decoupled: lease.description.decoupled === true,
    examples: async () => (await server.exampleInputs())?.inputs ?? [],
    predict: (inputs) => server.predict(model, inputs),
    stream: (inputs) => server.stream(model, inputs),
    close: () => server.close(),
  };
}

/**
 * A model of a server that answers KServe V2, as this one and Triton do, with an `Authorization` if
 * it asks for one; throws for another form of address, and for a model that is not there.
 */
export async function openRemoteTarget(text: string, authorization?: string): Promise<Target> {
  const remote = await openRemoteModel(parseModelAddress(text), authorization);
  const { inputs, predict, stream, close } = remote;
  return {
    name: text,
    signature: { inputs },
    decoupled: await remote.decoupled().catch((reason) => {
      close();
      throw reason;
    }),
    examples: async () => guessExamples(inputs),
    ...{ predict, stream },
    close: async () => close(),
  };
}
