import { parseModelAddress } from "../../client/model-address.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import type { Server } from "../../server/server.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type ExampleInput, guessExamples } from "../../tensor/signature/example-inputs.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { compareTensors, type Tolerances } from "../replay/compare-tensors.ts";

/** Answer of one target. */
export interface Answer {
  readonly name: string;
  readonly runtime?: string;
  readonly outputs: Tensors;
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

/** Runs a target once, then so many times for its speed. */
export async function answerOf(target: Target, inputs: Values, runs: number): Promise<Answer> {
  const outputs = await target.predict(inputs);
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    await target.predict(inputs);
    times.push(performance.now() - started);
  }
  const { name, runtime } = target;
  const ms = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
  return { name, ...(runtime !== undefined && { runtime }), outputs, ...(ms !== undefined && { ms }) };
}

/** Every output of the other answers next to that of the first. */
export function compareAnswers(
  [reference, ...others]: readonly [Answer, ...Answer[]],
  tolerances: Tolerances,
): readonly Compared[] {
  return others.flatMap(({ name, outputs }) => {
    const sides = { first: `from ${reference.name}`, second: `from ${name}` };
    const all = compareTensors(reference.outputs, outputs, new Map(), sides);
    const far = compareTensors(reference.outputs, outputs, tolerances, sides);
    const names = new Set([...Object.keys(reference.outputs), ...Object.keys(outputs)]);
    return Array.from(names, (output) => {
      const found = far.find((each) => each.output === output) ?? all.find((each) => each.output === output);
      const isNear = far.every((each) => each.output !== output);
      return { target: name, output, distance: found?.distance ?? 0, isNear, text: found?.text ?? "" };
    });
  });
}

/** A comparison for people. */
export function toComparisonLines(answers: readonly Answer[], compared: readonly Compared[]): string[] {
  const rows = answers.map(({ name, ms, runtime = "" }) => [
    name,
    ms === undefined ? "-" : `${Number(ms.toPrecision(3))} ms`,
    runtime,
  ]);
  const outputs = compared.map(({ target, output, isNear, text }) => [
    target,
    output,
    isNear ? (text === "" ? "equal" : "near") : "DIFFERS",
    text,
  ]);
  const others = [["Compared", "Output", "Result", "Greatest difference"], ...outputs];
  return [...toColumns([["Target", "Median", "Runtime"], ...rows]), "", ...toColumns(others)];
}

/** Something that answers the inputs of a comparison. */
export interface Target {
  /** For people: a driver, a path, an address. */
  readonly name: string;
  /** The runtime with its version; absent if it is not known. */
  readonly runtime?: string;
  readonly signature: Signature;
  /** Inputs that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values): Promise<Tensors>;
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
    examples: async () => (await server.exampleInputs())?.inputs ?? [],
    predict: (inputs) => server.predict(model, inputs),
    close: () => server.close(),
  };
}

/**
 * A model of a server that answers KServe V2, as this one and Triton do, with an `Authorization` if
 * it asks for one; throws for another form of address, and for a model that is not there.
 */
export async function openRemoteTarget(text: string, authorization?: string): Promise<Target> {
  const { inputs, predict, close } = await openRemoteModel(parseModelAddress(text), authorization);
  return {
    name: text,
    signature: { inputs },
    examples: async () => guessExamples(inputs),
    predict,
    close: async () => close(),
  };
}
