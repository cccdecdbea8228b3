import type { Command } from "commander";
import { findDriver } from "../../drivers/registry.ts";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { inspectFile } from "../../inspection/inspect-file.ts";
import { findModel } from "../../repository/folders/find-model.ts";
import { fingerprintOf } from "../../repository/folders/fingerprint.ts";
import { memoryOf } from "../../repository/reserve-memory.ts";
import { LazyStorage } from "../../server/lazy-storage.ts";
import { withDefaults } from "../../server/server-options.ts";
import { claimPath } from "../../storage/local-name.ts";
import { isRemoteAddress, toPlace } from "../../storage/remote-address.ts";
import { printable } from "../../text/printable.ts";
import { drawDownloads, LiveLine } from "../live-line.ts";
import { FIRM_SPACE } from "../status-reporter/model-table.ts";
import { collect, createParser, runParser } from "./create-parser.ts";
import { tryDrivers } from "./inspection/driver-trials.ts";
import { toInspectionLines, toPlainInspection } from "./inspection/inspection.ts";
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
