import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { type Command, Option } from "commander";
import { isModelAddress, parseModelAddress } from "../../client/model-address.ts";
import type { PredictOptions } from "../../client/model-client.ts";
import { openRemoteModel } from "../../client/open-remote-model.ts";
import { invalidArgument } from "../../errors.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { printable } from "../../platform/text/terminal.ts";
import { writeNpy } from "../../tensor/codecs/npy.ts";
import type { Values } from "../../tensor/plain-value.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type ExampleInput, guessExamples, randomTensors } from "../../tensor/signature/example-inputs.ts";
import { knownInputs, type Signature } from "../../tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../../tensor/tensor.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import { withProgress } from "../live-line.ts";
import { FIRM_SPACE, flowText } from "../status-reporter/model-table.ts";
import { addModelFlags, collect, createParser, type ModelFlags, readCount, runParser } from "./create-parser.ts";
import { readInputs } from "./input-flags.ts";
import { outputImage, outputJson, outputLines } from "./model-outputs.ts";
import { openModel } from "./open-model.ts";
import { writeOut } from "./out-files.ts";
import { authorizationAt, refuseBareAddress } from "./server-addresses.ts";

const FORMATS = ["table", "json", "npy", "png"] as const;
type Format = (typeof FORMATS)[number];

const EPILOGUE = `
Examples:
  kserving infer emotion.onnx --input input_1=@face.jpg --top 3
  kserving infer half-plus-two.onnx --input x=[1,2.5]
  kserving infer iris.joblib -o allow_pickle=true --input @rows.csv
  kserving infer segment.onnx --input image=@street.png --output mask --out mask.png
  kserving infer model.onnx --random --json
  kserving infer http://localhost:9001/v2/models/emotion --input @face.jpg --top 3
  kserving infer http://localhost:9001/v2/models/letters --input text=Hello --stream

A value is JSON, a text, or @FILE: .npy, .json, .csv and .parquet are read, any other file is one element of bytes,
which is an image to an image input. @FILE without a name is the only input, or a .json with all of them; of a model of
tables it has rows: a .csv with a line of names, a .parquet, or a list of objects, or of lists in the order of the
columns. Parquet needs a Python with pyarrow (-o python=FILE).
`;

/** Flags that choose the model. */
interface TargetFlags extends ModelFlags {
  readonly signature?: string;
  readonly remoteAuthFile?: string;
}

interface InferFlags extends TargetFlags {
  readonly input: readonly string[];
  readonly random?: boolean;
  readonly seed: string;
  readonly output: readonly string[];
  readonly top?: string;
  readonly labels?: string;
  readonly format?: Format;
  readonly out?: string;
  readonly stream?: boolean;
  readonly json?: boolean;
}

/** `kserving infer`: one prediction, without a server or by one. */
export async function infer(argv: readonly string[]): Promise<void> {
  await runParser(createInferCommand(), argv);
}

/** The parser of `kserving infer`. */
export function createInferCommand(): Command {
  const command = createParser("infer", {
    description: "Runs a model once: here, without a server, or the one of a server.",
    epilogue: EPILOGUE,
  })
    .argument(
      "<model>",
      "a model's file or folder, or http://HOST:PORT/v2/models/NAME or grpc://HOST:PORT/NAME of a server",
    )
    .option("--input <[name=]value>", "value of an input, or @FILE; repeatable", collect, [])
    .option("--random", "random values for the inputs, of sizes on which the model runs")
    .option("--seed <number>", "seed of the random values", "0")
    .option("--driver <name>", "driver, or the path of your own (default: by the model's path)");
  return addModelFlags(command)
    .option("--signature <name>", "signature to run (default: the model's default)")
    .option("--output <name>", "output that is wanted; repeatable (default: all)", collect, [])
    .option("--top <count>", "show the largest values of each row, with their places or labels")
    .option("--labels <file>", "names of the classes, one for each line")
    .addOption(
      new Option("--format <format>", "form of the outputs (default: by --out's ending, else table)").choices(FORMATS),
    )
    .option("--out <file>", "write the outputs to a file")
    .addOption(new Option("--stream", "show each part of the answer as it comes").conflicts("out"))
    .option("--remote-auth-file <file>", "credentials at the server, as for kserving replay")
    .option("--json", "print JSON")
    .action(run);
}

async function run(place: string, flags: InferFlags): Promise<void> {
  const format = formatOf(flags);
  const labels = flags.labels === undefined ? undefined : readLabels(flags.labels);
  const top = flags.top === undefined ? {} : { top: readCount("--top", flags.top, 1) };
  const answer = async (signal?: AbortSignal) => {
    const target = await withProgress(`opening ${place}`, () => openInferTarget(place, flags));
    try {
      const specs = target.signature?.outputs ?? [];
      const labelsOf = (name: string) => labels ?? specs.find((spec) => spec.name === name)?.labels;
      const giving = { ...flags, format, view: { ...top, labelsOf } };
      if (signal === undefined) await give(await withProgress("running", () => predict(target, flags)), giving);
      else
        for await (const part of partsOf(target, flags, signal)) {
          await give(part, giving);
          if (!(await isRead(signal))) break;
        }
    } finally {
      await target.close();
    }
  };
  await (flags.stream === true ? untilInterrupted(answer, "the request was given up") : answer());
}

async function predict(target: InferTarget, flags: InferFlags): Promise<Tensors> {
  const { values, choices } = await toRequest(target, flags);
  return target.predict(values, choices);
}

async function* partsOf(target: InferTarget, flags: InferFlags, signal: AbortSignal): AsyncGenerator<Tensors> {
  const { values, choices } = await toRequest(target, flags);
  yield* target.stream(values, { ...choices, signal });
}

interface TargetRequest {
  readonly values: Values;
  readonly choices: Pick<PredictOptions, "signature" | "outputs">;
}

async function toRequest(target: InferTarget, flags: InferFlags): Promise<TargetRequest> {
  const { input, random = false, seed, signature, output } = flags;
  const takes = target.signature?.inputs?.some((one) => one.default === undefined) ?? true;
  if (input.length === 0 && !random && takes) throw noInput(target.signature);
  const given = await readInputs(input, target.signature, flags.option);
  const others = random ? randomTensors(await target.examples(), readCount("--seed", seed, 0)) : {};
  const choices = { ...(signature !== undefined && { signature }), ...(output.length > 0 && { outputs: output }) };
  return { values: { ...others, ...given }, choices };
}

function noInput(spec: Signature | undefined): Error {
  const takes =
    spec === undefined
      ? ""
      : ` The model is ${flowText({ inputs: knownInputs(spec), outputs: spec.outputs }).replaceAll(FIRM_SPACE, " ")}.`;
  return invalidArgument(`No input is given; expected --input NAME=VALUE for each, or --random.${takes}`);
}

function formatOf({ format, out, json = false }: InferFlags): Format {
  if (json && format !== undefined && format !== "json")
    throw invalidArgument(`--json and --format ${format} are two forms; expected one.`);
  const ending = FORMATS.find((each) => extname(out ?? "").toLowerCase() === `.${each}`);
  const chosen = json ? "json" : (format ?? ending ?? "table");
  const isFile = chosen === "npy" || chosen === "png";
  if (isFile && out === undefined) throw invalidArgument(`--format ${chosen} needs a file; expected --out FILE.`);
  return chosen;
}

interface Giving extends Pick<InferFlags, "out"> {
  readonly format: Format;
  readonly view: Parameters<typeof outputLines>[1];
}

async function give(outputs: Tensors, { format, out, view }: Giving): Promise<void> {
  const text = format === "json" ? outputJson(outputs) : printable(outputLines(outputs, view).join("\n"));
  const content = format === "json" || format === "table" ? `${text}\n` : await toFile(format, outputs);
  if (out === undefined) process.stdout.write(content);
  else writeOut(out, content);
}

/** Waits until standard output takes more; false if its reader has left, as `head` does. */
async function isRead(signal: AbortSignal): Promise<boolean> {
  const { stdout } = process;
  if (stdout.writable && stdout.writableNeedDrain) await once(stdout, "drain", { signal }).catch(() => {});
  return stdout.writable;
}

function toFile(format: "npy" | "png", outputs: Tensors): Uint8Array | Promise<Uint8Array> {
  const [[name, tensor] = ["", undefined], ...others] = Object.entries(outputs) as [string, Tensor][];
  if (tensor === undefined || others.length > 0) {
    const names = Object.keys(outputs).join(", ");
    throw invalidArgument(`A ${format} file has one output, but there are ${names}; choose with --output NAME.`);
  }
  return format === "npy" ? writeNpy(tensor) : outputImage(name, tensor);
}

function readLabels(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8")
      .replace(/\r?\n$/, "")
      .split(/\r?\n/);
  } catch (cause) {
    throw invalidArgument(`--labels "${path}" ${readProblem(cause)}; expected a file that can be read.`, cause);
  }
}

/** A model to run: one that is loaded here, or one of a server. */
interface InferTarget {
  /** Undefined if it is not known. */
  readonly signature: Signature | undefined;
  /** Inputs on which the model runs, or that fit it. */
  examples(): Promise<readonly ExampleInput[]>;
  predict(inputs: Values, choices: Pick<PredictOptions, "signature" | "outputs">): Promise<Tensors>;
  /** The parts of its answer; the answer of one that answers once is the only part. */
  stream(inputs: Values, choices: Pick<PredictOptions, "signature" | "outputs" | "signal">): AsyncIterable<Tensors>;
  close(): Promise<void>;
}

/**
 * Loads the model at a path, or at the address of its file; or connects to the one of a server, by
 * `http://HOST:PORT/v2/models/NAME` or `grpc://HOST:PORT/NAME`. Throws `invalid_argument` for an address that is not
 * complete.
 */
async function openInferTarget(place: string, flags: InferFlags): Promise<InferTarget> {
  refuseBareAddress(place, "model");
  return isModelAddress(place) ? openServed(place, flags) : openLocal(place, flags);
}

/** The name before an input's value. */
const INPUT_NAME = /^([^=@[{]+)=/;

async function openLocal(path: string, flags: InferFlags): Promise<InferTarget> {
  const { server, name } = await openModel(path, flags);
  const lease = await server.service.acquire({ model: name });
  lease.release();
  const inputs = flags.input.flatMap((each) => INPUT_NAME.exec(each)?.[1] ?? []);
  return {
    signature: chooseSignature(flags.signature ?? "", lease.description.signatures, { inputs })?.spec,
    examples: async () => (await server.exampleInputs())?.inputs ?? [],
    predict: (inputs, choices) => server.predict(name, inputs, choices),
    stream: (inputs, choices) => server.stream(name, inputs, choices),
    close: () => server.close(),
  };
}

async function openServed(place: string, { driver, hooks, option, remoteAuthFile }: TargetFlags): Promise<InferTarget> {
  // A Parquet file is read here, wherever the model is.
  if (driver !== undefined || hooks !== undefined || option.some((one) => !one.startsWith("python=")))
    throw invalidArgument(`--driver, --hooks and -o are for a model that is loaded here; "${place}" is a server's.`);
  const { inputs, outputs, predict, stream, close } = await openRemoteModel(
    parseModelAddress(place),
    await authorizationAt(place, remoteAuthFile),
  );
  return {
    signature: { inputs, outputs },
    examples: async () => guessExamples(inputs),
    ...{ predict, stream },
    close: async () => close(),
  };
}
