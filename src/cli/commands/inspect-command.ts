import type { Command } from "commander";
import { driversToAsk } from "../../drivers/drivers-for.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { findDriver } from "../../drivers/registry.ts";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { sizeText } from "../../platform/text/size-text.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { LazyStorage } from "../../server/lazy-storage.ts";
import { withDefaults } from "../../server/server-options.ts";
import { findModel } from "../../serving/repository/folders/find-model.ts";
import { fingerprintOf } from "../../serving/repository/folders/fingerprint.ts";
import { memoryOf } from "../../serving/repository/reserve-memory.ts";
import { claimPath } from "../../storage/local-name.ts";
import { isRemoteAddress, toPlace } from "../../storage/remote-address.ts";
import { knownInputs, type Signature } from "../../tensor/signature/signature.ts";
import type { FileFacts, WeightCount } from "../../tools/inspection/file-facts.ts";
import { inspectFile } from "../../tools/inspection/inspect-file.ts";
import { drawDownloads, LiveLine, withProgress } from "../live-line.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import { FIRM_SPACE, flowText } from "../status-reporter/model-table.ts";
import { collect, createParser, runParser } from "./create-parser.ts";
import { refuseServer } from "./server-addresses.ts";

const EPILOGUE = `
Examples:
  kserving inspect emotion.onnx
  kserving inspect models/resnet/1 --json
  kserving inspect face.xml --driver openvino -o device=GPU
  kserving inspect https://models.example/face.onnx
  kserving inspect untrusted.onnx --no-load

Signatures come from the first driver that loads the model; --no-load reads its files alone, and runs no code of it.
The exit code is 1 where the file cannot be read, or no driver can run the model.
`;

/** Operators that are listed, the most frequent ones first. */
const MAX_OPERATORS = 40;

/** Characters of a metadata value that are shown; --json has all of it. */
const MAX_VALUE = 100;

interface InspectFlags {
  readonly driver: readonly string[];
  readonly option: readonly string[];
  readonly load: boolean;
  readonly json?: boolean;
}

/** `kserving inspect`: what a model is, and what can run it. Throws `failed_precondition` if nothing can. */
export async function inspect(argv: readonly string[]): Promise<void> {
  await runParser(createInspectCommand(), argv);
}

/** The parser of `kserving inspect`. */
export function createInspectCommand(): Command {
  return createParser("inspect", {
    description: "Shows what a model is: its format, signatures, operators, weights, and which drivers can run it.",
    epilogue: EPILOGUE,
  })
    .argument("<model>", "a model's file or folder, or its address")
    .option("--driver <name>", "driver to try; repeatable (default: those that may take the format)", collect, [])
    .option("-o, --option <key=value>", "option of the drivers; repeatable", collect, [])
    .option("--no-load", "read the files alone, without a driver")
    .option("--json", "print JSON")
    .action(run);
}

async function run(place: string, flags: InspectFlags): Promise<void> {
  refuseServer(place, (server) => `kserving client ${server} --json shows the inputs and outputs of its models`);
  await withLocalFiles(place, (files) => show(files, flags));
}

async function show({ path: given, shown }: LocalFiles, flags: InspectFlags): Promise<void> {
  const path = await findModel(given, flags.driver.length === 1 ? flags.driver[0] : undefined);
  const facts = await inspectFile(path);
  const { bytes } = await fingerprintOf(path);
  const trials = flags.load ? await tryDrivers(path, flags) : [];
  const running = trials.find(({ problem }) => problem === undefined)?.driver;
  const memoryBytes = running === undefined ? undefined : await estimate(path, running, bytes);
  const inspection = { path, bytes, facts, trials, ...(memoryBytes !== undefined && { memoryBytes }) };
  const text = flags.json
    ? JSON.stringify(toPlainInspection(inspection), null, 2)
    : toInspectionLines(inspection).join("\n");
  console.log(printable(shown(text).replaceAll(FIRM_SPACE, " ")));
  if (flags.load && running === undefined)
    throw failedPrecondition("No driver can run the model; the reasons are listed above.");
}

/** By the same rule as `--model-memory`. */
async function estimate(path: string, driver: string, bytes: number): Promise<number> {
  const found = await findDriver(driver);
  await found.dispose();
  const stage = { number: 1, found, path, options: {}, fileBytes: bytes };
  return memoryOf([stage], [bytes], { instances: 1, workers: 0 });
}

/** The files of a model on this machine. */
interface LocalFiles {
  readonly path: string;
  /** A text with the address in place of the path of the cache. */
  shown(text: string): string;
}

/** Runs something on a model's files, which are downloaded into the cache first if the place is an address. */
async function withLocalFiles(place: string, run: (files: LocalFiles) => Promise<void>): Promise<void> {
  if (!isRemoteAddress(place)) return run({ path: claimPath(place), shown: (text) => text });
  const storage = new LazyStorage(withDefaults({ onDownload: drawDownloads(new LiveLine()) }));
  try {
    const { path, release } = await storage.fetch(toPlace(place), new AbortController().signal);
    const shown = (text: string) => (storage.toAddresses(new ServingError("unknown", text)) as Error).message;
    await run({ path, shown }).finally(release);
  } catch (reason) {
    throw storage.toAddresses(reason);
  } finally {
    storage.close();
  }
}

/** Everything that `kserving inspect` has found about a model. */
export interface Inspection {
  readonly path: string;
  /** Of its files. */
  readonly bytes: number;
  readonly facts: FileFacts;
  /** Memory that one copy is expected to take; absent if no driver is known. */
  readonly memoryBytes?: number;
  /** Empty if nothing was to be loaded. */
  readonly trials: readonly DriverTrial[];
}

/** The inspection as JSON. */
export function toPlainInspection({ facts, trials, ...rest }: Inspection): object {
  const { operators, weights, ...others } = facts;
  const { signatures = {}, decoupled } = runningOf(trials);
  return {
    ...rest,
    ...others,
    ...(decoupled && { decoupled }),
    ...(operators && { operators: Object.fromEntries(operators) }),
    ...(weights && { weights: Object.fromEntries(weights) }),
    signatures,
    drivers: trials.map(({ signatures, ...trial }) => ({ ...trial, runs: signatures !== undefined })),
  };
}

/** An inspection for people. */
export function toInspectionLines({ path, bytes, facts, memoryBytes, trials }: Inspection): string[] {
  const { format, producer, metadata } = facts;
  const rows = [
    ["Format", format],
    ...(producer === undefined ? [] : [["Producer", producer]]),
    ["Size", sizeText(bytes)],
    ...(memoryBytes === undefined ? [] : [["Memory", `about ${sizeText(memoryBytes)} for each copy`]]),
    ...Object.entries(metadata).map(([name, value]) => [name, shorten(value)]),
  ];
  return [
    path,
    ...indent(toColumns(rows)),
    ...titled("Signatures", signatureRows(runningOf(trials))),
    ...operatorLines(facts),
    ...titled("Weights and constants", weightRows(facts.weights)),
    ...titled("Drivers", trials.map(toTrialRow)),
  ];
}

/** The first trial that succeeded. */
function runningOf(trials: readonly DriverTrial[]): Partial<DriverTrial> {
  return trials.find(({ signatures }) => signatures !== undefined) ?? {};
}

function titled(title: string, rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ["", title, ...indent(toColumns(rows))];
}

function signatureRows({ signatures = {}, decoupled }: Partial<DriverTrial>): string[][] {
  return Object.entries(signatures).map(([name, signature]) => {
    const flow = { inputs: knownInputs(signature), outputs: signature.outputs, decoupled };
    return [name, flowText(flow)];
  });
}

function operatorLines({ operators }: FileFacts): string[] {
  if (operators === undefined || operators.size === 0) return [];
  const counted = [...operators].toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b));
  const total = counted.reduce((sum, [, count]) => sum + count, 0);
  const rows = counted.slice(0, MAX_OPERATORS).map(([name, count]) => [name, String(count)]);
  const rest = counted.length > MAX_OPERATORS ? [`  and ${counted.length - MAX_OPERATORS} more kinds`] : [];
  return ["", `Operators (${total}, of ${counted.length} kinds)`, ...indent(toColumns(rows)), ...rest];
}

function weightRows(weights: ReadonlyMap<string, WeightCount> = new Map()): string[][] {
  const all = [...weights].toSorted(([, a], [, b]) => b.bytes - a.bytes);
  return all.map(([type, { tensors, elements, bytes }]) => [
    type,
    `${tensors} ${tensors === 1 ? "tensor" : "tensors"}`,
    `${elements.toLocaleString("en")} values`,
    sizeText(bytes),
  ]);
}

function toTrialRow({ driver, problem, runtime = "", loadMs = 0 }: DriverTrial): string[] {
  if (problem !== undefined) return [driver, `refuses: ${problem}`];
  return [driver, `runs: ${runtime === "" ? "" : `${runtime}, `}loaded in ${Math.round(loadMs)} ms`];
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_VALUE ? `${line.slice(0, MAX_VALUE)}… (${text.length} characters)` : line;
}

/** A driver that was asked to load a model. */
interface DriverTrial {
  readonly driver: string;
  /** The reason for which it refused; absent if it loaded the model. */
  readonly problem?: string;
  /** The runtime with its version and place. */
  readonly runtime?: string;
  readonly loadMs?: number;
  readonly signatures?: Readonly<Record<string, Signature>>;
  /** True if the model answers in parts. */
  readonly decoupled?: boolean;
}

/** Drivers and their options. */
interface Trials {
  /** Empty = those that may take the model. */
  readonly driver: readonly string[];
  readonly option: readonly string[];
}

/** Lets drivers load a model, one after the other. */
async function tryDrivers(path: string, { driver, option }: Trials): Promise<readonly DriverTrial[]> {
  const names = driver.length > 0 ? driver : await driversToAsk(path);
  const { shared } = parseOptionFlags(option, 1);
  const trials: DriverTrial[] = [];
  for (const name of names)
    trials.push(await withProgress(`loading ${path} with ${name}`, () => tryDriver(name, path, shared)));
  return trials;
}

async function tryDriver(driver: string, path: string, options: RawOptions): Promise<DriverTrial> {
  const { createServer } = await import("../../server/server.ts");
  try {
    const server = await createServer({
      stages: [{ driver, path }],
      options,
      ...{ listen: false, shareThreads: false, drainTimeoutMs: 1000 },
      log: createSilentLogger(),
    });
    const [{ runtime, loadMs } = {}] = server.stages;
    const lease = await server.service.acquire({ model: "" });
    const { signatures, decoupled } = lease.description;
    lease.release();
    await server.close();
    const found = { signatures, ...(decoupled && { decoupled }) };
    return { driver, ...(runtime !== undefined && { runtime }), ...(loadMs !== undefined && { loadMs }), ...found };
  } catch (reason) {
    return { driver, problem: reasonText(reason).replace(/\s*\n\s*/g, " ") };
  }
}
