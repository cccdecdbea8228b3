import { accessSync, constants, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { dirname, resolve } from "node:path";
import { type Command, Option } from "commander";
import { isModelAddress } from "../../client/model-address.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { outputProblem } from "../../platform/text/file-problem.ts";
import { printable } from "../../platform/text/terminal.ts";
import { type Goal, meets, parseCounts, parseGoal, parseLevels } from "../../tools/benchmark/bench-flags.ts";
import type { BenchTarget } from "../../tools/benchmark/bench-target.ts";
import { failureCount, isSilent, type Level, type LevelResult } from "../../tools/benchmark/measure/level.ts";
import { runBench } from "../../tools/benchmark/measure/measure-level.ts";
import { toBenchTable, toReport } from "../../tools/benchmark/report.ts";
import { openBenchTarget, progressText } from "../benchmark/open-bench-target.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import { LiveLine, withProgress } from "../live-line.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import {
  addModelFlags,
  collect,
  createParser,
  type ModelFlags,
  readCount,
  readSeconds,
  runParser,
} from "./create-parser.ts";
import { authorizationAt, refuseBareAddress } from "./server-addresses.ts";

const EPILOGUE = `
Examples:
  kserving bench emotion.onnx --concurrency 1:16
  kserving bench grpc://localhost:9000/emotion --concurrency 8 --goal p99=20ms
  kserving bench http://localhost:9001/v2/models/emotion --rate 50:400 --report emotion.html
  kserving bench grpc://triton:8001/resnet --shape input=8,3,224,224

A closed load keeps --concurrency requests open; an open one begins --rate of them each second, whatever becomes of
earlier ones, and counts latencies from the time at which each was due. A sweep is 1,4,16 or 1:32 (doubling) or
10:50:10. Each step warms up, then measures until three windows in a row agree within 10 %. The exit code is 1 where a
request fails, none is answered for five windows, or a --goal is missed.
`;

/** Open requests of an open load at most. */
const OPEN_CONCURRENCY = 1000;

interface BenchFlags extends ModelFlags {
  readonly concurrency?: string;
  readonly rate?: string;
  readonly protocol?: "grpc" | "http";
  readonly encoding?: "binary" | "json";
  readonly connections: string;
  readonly clientThreads: string;
  readonly input: readonly string[];
  readonly shape: readonly string[];
  readonly seed: string;
  readonly instances?: string;
  readonly threads?: string;
  readonly warmUp: string;
  readonly window: string;
  readonly maxWindows: string;
  readonly goal: readonly string[];
  readonly remoteAuthFile?: string;
  readonly report?: string;
  readonly json?: boolean;
}

/**
 * `kserving bench`: throughput and latency of a server's model. Throws
 * `failed_precondition` if requests fail or goals are missed.
 */
export async function bench(argv: readonly string[]): Promise<void> {
  await runParser(createBenchCommand(), argv);
}

/** The parser of `kserving bench`. */
export function createBenchCommand(): Command {
  const command = createParser("bench", {
    description: "Puts a load on a model of a server, or on one that it serves itself, and measures it.",
    epilogue: EPILOGUE,
  })
    .argument("<target>", "grpc://HOST:PORT/NAME, http://HOST:PORT/v2/models/NAME, or a model's file or folder")
    .option("--concurrency <levels>", "requests open at a time, or a sweep (default: 1; with --rate 1000 at most)")
    .option("--rate <levels>", "requests that begin each second, or a sweep; an open load")
    .addOption(protocolOption())
    .addOption(encodingOption())
    .option("--connections <count>", "gRPC connections of each client thread", "1")
    .option("--client-threads <count>", "threads that put the load on the server", "1")
    .option("--input <[name=]value>", "value of an input, or @FILE, as for kserving infer; repeatable", collect, [])
    .option("--shape <name=sizes>", "shape of an input with random values; repeatable", collect, [])
    .option("--seed <number>", "seed of the random values", "0")
    .option("--driver <name>", "driver for a model (default: by its path)");
  return addModelFlags(command)
    .option("--instances <count>", "copies of a model that is served")
    .option("--threads <count>", "threads of each copy's runtime")
    .option("--warm-up <seconds>", "time before each measurement", "1")
    .option("--window <seconds>", "length of a window of the measurement", "2")
    .option("--max-windows <count>", "windows at most, where no three agree", "10")
    .option("--goal <figure=bound>", "latency that every step has to keep, such as p99=20ms; repeatable", collect, [])
    .option("--remote-auth-file <file>", "credentials at the server, as for kserving replay")
    .option("--report <file>", "write an HTML page with charts")
    .option("--json", "print JSON")
    .action(run);
}

function protocolOption(): Option {
  return new Option("--protocol <name>", "how to call a model that is served (default: grpc)").choices([
    "grpc",
    "http",
  ]);
}

function encodingOption(): Option {
  return new Option("--encoding <form>", "form of values over HTTP (default: binary)").choices(["binary", "json"]);
}

async function run(place: string, flags: BenchFlags): Promise<void> {
  const goals = flags.goal.map(parseGoal);
  const levels = toLevels(flags);
  checkFlags(place, flags);
  const measuring = {
    threads: readCount("--client-threads", flags.clientThreads, 1),
    warmUpSeconds: readSeconds("--warm-up", flags.warmUp),
    windowSeconds: readSeconds("--window", flags.window),
    maxWindows: readCount("--max-windows", flags.maxWindows, 3),
  };
  await untilInterrupted(async (signal) => {
    const target = await withProgress(`opening ${place}`, () => open(place, flags, signal));
    const line = new LiveLine();
    try {
      const onProgress = (...state: Parameters<typeof progressText>) => line.show(() => progressText(...state));
      const results = await runBench(target.load, levels, { ...measuring, signal, onProgress });
      line.clear();
      give(target, results, flags.json === true);
      if (flags.report !== undefined) writeReport(flags.report, target, results);
      assertGood(results, goals);
      signal.throwIfAborted();
    } finally {
      line.clear();
      await target.close();
    }
  }, "the figures are those measured until then");
}

/** A flag that the place has no use for would leave figures of something else. */
function checkFlags(place: string, flags: BenchFlags): void {
  refuseBareAddress(place, "model");
  const { protocol, driver, hooks, instances, threads, option, encoding, report } = flags;
  const isServed = isModelAddress(place);
  const own = { protocol, driver, hooks, instances, threads, option: option.length > 0 ? option : undefined };
  const [given] = Object.entries(own).find(([, value]) => value !== undefined) ?? [];
  if (isServed && given !== undefined)
    throw invalidArgument(`--${given} is for a model that is served here; "${place}" is a server's.`);
  const isGrpc = isServed ? place.startsWith("grpc") : protocol !== "http";
  if (encoding !== undefined && isGrpc)
    throw invalidArgument(
      `--encoding ${encoding} is for HTTP, ${isServed ? "and this is gRPC" : "which --protocol http calls"}.`,
    );
  if (report !== undefined) assertFolder(report);
}

/** Checks the report's folder before anything is measured, which may take minutes. */
function assertFolder(report: string): void {
  try {
    accessSync(dirname(resolve(report)), constants.W_OK);
  } catch (cause) {
    throw cannotWrite(report, cause);
  }
}

async function open(place: string, flags: BenchFlags, signal: AbortSignal): Promise<BenchTarget> {
  const { driver, hooks, option, instances, threads, remoteAuthFile, ...others } = flags;
  return openBenchTarget({
    ...{
      place,
      signal,
      protocol: others.protocol ?? "grpc",
      encoding: others.encoding ?? "binary",
      input: others.input,
      shape: others.shape,
    },
    connections: readCount("--connections", others.connections, 1),
    seed: readCount("--seed", others.seed, 0),
    authorization: await authorizationAt(place, remoteAuthFile),
    model: {
      ...{ path: place, options: parseOptionFlags(option, 1).shared },
      ...(driver !== undefined && { driver }),
      ...(hooks !== undefined && { hooks }),
      ...(instances !== undefined && { instances: readCount("--instances", instances, 1) }),
      ...(threads !== undefined && { threads: readCount("--threads", threads, 1) }),
    },
  });
}

function toLevels({ concurrency, rate }: BenchFlags): readonly Level[] {
  const counts = parseCounts("--concurrency", concurrency ?? String(rate === undefined ? 1 : OPEN_CONCURRENCY));
  if (rate === undefined) return counts.map((count) => ({ concurrency: count }));
  const most = counts.at(-1) as number;
  return parseLevels("--rate", rate).map((perSecond) => ({ concurrency: most, rate: perSecond }));
}

function give({ address, runtime }: BenchTarget, results: readonly LevelResult[], isJson: boolean): void {
  const heading = [address, ...(runtime === undefined ? [] : [runtime])].join(", ");
  const lines = [heading, "", ...toBenchTable(results)];
  console.log(isJson ? JSON.stringify({ address, runtime, levels: results }, null, 2) : printable(lines.join("\n")));
}

function writeReport(path: string, { address, runtime }: BenchTarget, results: readonly LevelResult[]): void {
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? "of an unknown kind"}), Node ${process.version}`;
  const lines = [...(runtime === undefined ? [] : [runtime]), `Client: ${machine}`, new Date().toISOString()];
  try {
    writeFileSync(path, toReport(results, { address, lines }));
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

function cannotWrite(path: string, cause: unknown): Error {
  return invalidArgument(`The report "${path}" ${outputProblem(cause)}; expected a file that can be written.`, cause);
}

function assertGood(results: readonly LevelResult[], goals: readonly Goal[]): void {
  if (results.length === 0)
    throw new ServingError("cancelled", "The benchmark was stopped before anything was measured.");
  const failed = results.reduce((sum, result) => sum + failureCount(result), 0);
  if (failed > 0) throw failedPrecondition(`${failed} requests failed; the reasons are listed above.`);
  if (results.some(isSilent)) throw failedPrecondition("The server went silent; what to do is said above.");
  const missed = goals.filter((goal) => !results.every((result) => meets(result, goal)));
  if (missed.length > 0)
    throw failedPrecondition(`${missed.map(({ text }) => text).join(" and ")} is missed; the figures are above.`);
}
