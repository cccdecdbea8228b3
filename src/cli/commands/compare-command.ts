import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { isModelAddress } from "../../client/model-address.ts";
import { driversFor } from "../../drivers/drivers-for.ts";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { printable } from "../../platform/text/terminal.ts";
import { parseExactJson, tensorFromJson } from "../../tensor/codecs/json/tensor-from-json.ts";
import { type ExampleInput, randomTensors } from "../../tensor/signature/example-inputs.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { createTensors } from "../../tensor/tensor.ts";
import {
  type Answer,
  answerOf,
  compareAnswers,
  openModelTarget,
  openRemoteTarget,
  type Target,
  toComparisonLines,
  toPlainAnswer,
} from "../../tools/comparison/comparison.ts";
import { parseTolerances } from "../../tools/replay/compare-tensors.ts";
import { applyShapes } from "../benchmark/apply-shapes.ts";
import { withProgress } from "../live-line.ts";
import { collect, createParser, readCount, runParser } from "./create-parser.ts";
import { groupRefusals, type Refusal } from "./group-refusals.ts";
import { readInputs } from "./input-flags.ts";
import { asReadAgain } from "./model-outputs.ts";
import { openModel } from "./open-model.ts";
import { authorizationAt, refuseBareAddress } from "./server-addresses.ts";

const EPILOGUE = `
Examples:
  kserving compare emotion.onnx --driver onnx --driver openvino
  kserving compare emotion.onnx emotion-int8.onnx --input @face.jpg --tolerance 0.05
  kserving compare emotion.onnx http://localhost:9001/v2/models/emotion
  kserving compare grpc://localhost:9000/emotion grpc://canary:9000/emotion
  kserving infer emotion.onnx --random --json --out golden.json; kserving compare emotion.onnx --golden golden.json

Without --driver a model runs on every driver that takes it; without --input its inputs are random. The first target
is the one with which the others are compared, or the golden file. The exit code is 1 where an output differs by more
than the tolerance, which is float32=1e-4,1e-5 and the like, and none for integers. Answers in parts are compared part
by part, up to 1000 of them.
`;

interface CompareFlags {
  readonly driver: readonly string[];
  readonly option: readonly string[];
  readonly input: readonly string[];
  readonly shape: readonly string[];
  readonly seed: string;
  readonly golden?: string;
  readonly tolerance: readonly string[];
  readonly runs: string;
  readonly remoteAuthFile?: string;
  readonly json?: boolean;
}

/** `kserving compare`: the same inputs to several targets. Throws `failed_precondition` if outputs differ. */
export async function compare(argv: readonly string[]): Promise<void> {
  await runParser(createCompareCommand(), argv);
}

/** The parser of `kserving compare`. */
export function createCompareCommand(): Command {
  return createParser("compare", {
    description: "Runs a model on several drivers, or several models or servers, and compares outputs and speed.",
    epilogue: EPILOGUE,
  })
    .argument(
      "<target...>",
      "a model's file or folder, or http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME of a server",
    )
    .option("--driver <name>", "driver for the models; repeatable (default: all that take them)", collect, [])
    .option("-o, --option <key=value>", "option of the drivers; repeatable", collect, [])
    .option("--input <[name=]value>", "value of an input, or @FILE, as for kserving infer; repeatable", collect, [])
    .option("--shape <name=sizes>", "shape of an input with random values; repeatable", collect, [])
    .option("--seed <number>", "seed of the random inputs", "0")
    .option("--golden <file>", "outputs to compare with, as kserving infer --json has written them")
    .option("--tolerance <[dtype=]rtol[,atol]>", "maximum difference of equal numbers; repeatable", collect, [])
    .option("--runs <count>", "runs of each target, for its speed", "10")
    .option("--remote-auth-file <file>", "credentials at the servers, as for kserving replay")
    .option("--json", "print JSON")
    .action(run);
}

async function run(places: readonly string[], flags: CompareFlags): Promise<void> {
  const tolerances = parseTolerances(flags.tolerance);
  const golden = flags.golden === undefined ? [] : [readGolden(flags.golden)];
  const [runs, seed] = [readCount("--runs", flags.runs, 0), readCount("--seed", flags.seed, 0)];
  if (places.every(isModelAddress) && flags.driver.length + flags.option.length > 0)
    throw invalidArgument("--driver and -o are for models that are loaded here; all targets are models of servers.");
  const targets: Target[] = [];
  try {
    const refusals = groupRefusals(await openTargets(places, flags, targets));
    const [first, second] = targets;
    if (first === undefined || (second === undefined && golden.length === 0)) throw tooFew(targets, refusals);
    const given = await readInputs(flags.input, first.signature);
    const examples = flags.input.length > 0 ? [] : applyShapes(await first.examples(), flags.shape);
    const inputs = { ...given, ...randomTensors(examples, seed) };
    const answers: Answer[] = [...golden];
    const failures: string[] = [];
    for (const target of targets) {
      const times = { count: runs, inParts: golden.length === 0 };
      const answered = withProgress(`running ${target.name}`, () => answerOf(target, inputs, times));
      const answer = await answered.catch((reason) => void failures.push(`${target.name}: ${oneLine(reason)}`));
      if (answer) answers.push(golden.length === 0 ? answer : { ...answer, parts: answer.parts.map(asReadAgain) });
    }
    const hint = shapeHint(first.signature, examples);
    if (answers.length === 0 || (failures.length > 0 && answers.length === 1))
      throw failedPrecondition(
        `There is nothing to compare with, since a target failed on the inputs; ${failures.join("; ")}${hint}`,
      );
    give(answers as [Answer, ...Answer[]], { refusals, failures }, { tolerances, hint, json: flags.json === true });
  } finally {
    await Promise.all(targets.map((target) => target.close()));
  }
}

/** Drivers that were not named may refuse, but for one place not all; resolves with their reasons. */
async function openTargets(places: readonly string[], flags: CompareFlags, targets: Target[]): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const place of places) {
    refuseBareAddress(place, "model");
    if (isModelAddress(place)) {
      targets.push(await openRemoteTarget(place, await authorizationAt(place, flags.remoteAuthFile)));
      continue;
    }
    const isOpen = flags.driver.length === 0;
    const before = { targets: targets.length, refusals: refusals.length };
    for (const driver of isOpen ? await driversFor(place) : flags.driver) {
      const name = places.length === 1 ? driver : `${place} (${driver})`;
      const opened = withProgress(`loading ${name}`, async () => {
        const { server, name: model } = await openModel(place, { option: flags.option, driver });
        return openModelTarget(server, model, name);
      });
      const refuse = (reason: unknown) => void refusals.push({ driver: name, problem: oneLine(reason) });
      const target = await (isOpen ? opened.catch(refuse) : opened);
      if (typeof target === "object") targets.push(target);
    }
    if (places.length > 1 && targets.length === before.targets)
      throw failedPrecondition(
        `No driver runs "${place}"; ${groupRefusals(refusals.slice(before.refusals)).join("; ")}`,
      );
  }
  return refusals;
}

/** Advice after failures on random inputs whose sizes the model leaves open. */
function shapeHint({ inputs = [] }: Signature, examples: readonly ExampleInput[]): string {
  const isOpen = ({ name }: ExampleInput) => inputs.find((spec) => spec.name === name)?.shape?.includes(-1);
  const shapes = examples.filter(isOpen).map(({ name, shape }) => `--shape ${name}=${shape.join(",")}`);
  return shapes.length === 0 ? "" : `; the random inputs are ${shapes.join(" ")}: usual sizes may help, or --input`;
}

function oneLine(reason: unknown): string {
  return reasonText(reason).replace(/\s*\n\s*/g, " ");
}

function tooFew(targets: readonly Target[], refusals: readonly string[]): Error {
  const which = targets.length === 0 ? "No driver runs the model" : `Only ${targets[0]?.name} runs the model`;
  return failedPrecondition([`${which}; expected two targets to compare`, ...refusals].join("; "));
}

type Tolerances = ReturnType<typeof parseTolerances>;

function give(
  answers: readonly [Answer, ...Answer[]],
  { refusals, failures }: { readonly refusals: readonly string[]; readonly failures: readonly string[] },
  { tolerances, hint, json }: { readonly tolerances: Tolerances; readonly hint: string; readonly json: boolean },
): void {
  const compared = compareAnswers(answers, tolerances);
  const plain = {
    targets: answers.map(toPlainAnswer),
    outputs: compared,
    refused: refusals,
    failed: failures,
  };
  const others = [...failures.map((text) => `FAILED: ${text}`), ...refusals.map((text) => `not compared: ${text}`)];
  const lines = [...toComparisonLines(answers, compared), ...others];
  // JSON has no infinity.
  const text = JSON.stringify(plain, (_, value) => (value === Number.POSITIVE_INFINITY ? "Infinity" : value), 2);
  console.log(json ? text : printable(lines.join("\n")));
  const far = compared.filter(({ isNear }) => !isNear).length;
  if (far > 0) throw failedPrecondition(`${far} of ${compared.length} outputs differ by more than the tolerance.`);
  if (failures.length > 0)
    throw failedPrecondition(`A target failed on the inputs; the reason is listed above${hint}.`);
}

function readGolden(path: string): Answer {
  try {
    const outputs = parseExactJson(readFileSync(path, "utf8")) as Record<string, Record<string, unknown>>;
    const golden = createTensors(Object.entries(outputs).map(([name, value]) => [name, tensorFromJson(name, value)]));
    return { name: path, parts: [golden] };
  } catch (cause) {
    const why =
      cause instanceof Error && "code" in cause && cause.code === "ENOENT"
        ? readProblem(cause)
        : `cannot be used: ${reasonText(cause)}`;
    throw invalidArgument(
      `The golden file "${path}" ${why}; expected what kserving infer --json --out FILE writes.`,
      cause,
    );
  }
}
