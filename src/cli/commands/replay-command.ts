import type { Command } from "commander";
import { createMessageClient } from "../../client/remote/grpc-client.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { parseTolerances } from "../../tools/replay/compare-tensors.ts";
import type { ReplayRate } from "../../tools/replay/pace.ts";
import { assertRequestLog } from "../../tools/replay/recorded-calls.ts";
import { type ReplayOutcome, toReplayFacts, toReplayTable } from "../../tools/replay/replay-outcome.ts";
import { runReplay } from "../../tools/replay/run-replay.ts";
import { LiveLine } from "../live-line.ts";
import { readSetting } from "../settings/read-setting.ts";
import { collect, createParser, runParser } from "./create-parser.ts";
import { authorizationAt, refuseServer } from "./server-addresses.ts";

const EPILOGUE = `
Examples:
  kserving replay logs/half-default-*.tfrecord --against canary:9000
  kserving replay traffic.tfrecord --rate recorded
  kserving replay assets.extra/tf_serving_warmup_requests --model emotion
  kserving replay traffic.tfrecord --tolerance float32=1e-3 --tolerance int8=0,1

The exit code is 1 where an answer differs from the recorded one, or a request fails.
`;

interface ReplayFlags {
  readonly against: string;
  readonly rate: string;
  readonly concurrency: string;
  readonly model?: string;
  readonly tolerance: readonly string[];
  readonly timeout: string;
  readonly remoteAuthFile?: string;
  readonly json?: boolean;
}

/**
 * `kserving replay`: sends recorded requests again and compares the answers. Throws
 * `failed_precondition` if they differ.
 */
export async function replay(argv: readonly string[]): Promise<void> {
  await runParser(createReplayCommand(), argv);
}

/** The parser of `kserving replay`. */
export function createReplayCommand(): Command {
  const description = "Sends recorded requests to a server again, and compares its answers with the recorded ones.";
  return createParser("replay", { description, epilogue: EPILOGUE })
    .argument("<file...>", "files of recorded requests, from --request-log or TensorFlow Serving")
    .option("--against <host:port>", "gRPC address of the server", "127.0.0.1:9000")
    .option("--rate <rate>", "speed: recorded, max (as fast as possible), or requests per second", "max")
    .option("--concurrency <count>", "maximum number of requests at a time", "8")
    .option("--model <name>", "model to use instead of the recorded ones and their versions")
    .option("--tolerance <[dtype=]rtol[,atol]>", "maximum difference of equal numbers; repeatable", collect, [])
    .option("--timeout <seconds>", "maximum time of one request, in seconds", "60")
    .option(
      "--remote-auth-file <file>",
      "credentials at the server: lines of HOST:PORT USER:PASSWORD or HOST:PORT Bearer TOKEN",
    )
    .option("--json", "print JSON")
    .action(run);
}

async function run(files: readonly string[], flags: ReplayFlags): Promise<void> {
  const { against, model } = flags;
  const read = (name: "concurrency" | "timeout", type: "count" | "seconds") =>
    Number(readSetting({ ...READ, type, min: 1, default: 0 }, { source: `--${name}`, text: flags[name] }));
  const options = {
    files,
    model,
    rate: readRate(flags.rate),
    concurrency: read("concurrency", "count"),
    tolerances: parseTolerances(flags.tolerance ?? []),
    timeoutMs: read("timeout", "seconds"),
  };
  readSetting({ ...READ, type: "address", default: "" }, { source: "--against", text: against });
  for (const file of files) {
    refuseServer(
      file,
      (server) => `kserving replay FILE --against ${server.replace(/^.*:\/\//, "")} sends the requests of a file to it`,
      "recorded requests",
    );
    await assertRequestLog(file);
  }
  const client = createMessageClient(against, await authorizationAt(against, flags.remoteAuthFile));
  // After Ctrl-C the results so far are printed too; a second Ctrl-C ends the program.
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  const line = new LiveLine();
  process.once("SIGINT", interrupt);
  try {
    await client.connect();
    const outcome = await runReplay(client, { ...options, signal: interrupted.signal, onProgress: progressOn(line) });
    line.clear();
    if (flags.json) console.log(JSON.stringify(toReplayFacts(outcome), null, 2));
    else console.log(printable(toReplayTable(outcome).join("\n")));
    const isStopped = interrupted.signal.aborted;
    if (!isStopped || outcome.sent > 0) assertEqual(outcome);
    if (isStopped) throw new ServingError("cancelled", "The replay was stopped before its end.");
  } finally {
    line.clear();
    process.off("SIGINT", interrupt);
    client.close();
  }
}

/** Shows the results so far, ten times a second. */
function progressOn(line: LiveLine): (outcome: ReplayOutcome) => void {
  let shownAt = 0;
  return ({ sent, different, failed }) => {
    if (performance.now() - shownAt < 100) return;
    shownAt = performance.now();
    line.show(() => `${sent} requests answered, ${different} different, ${failed} failed`);
  };
}

/** The parts of a setting that reading its value does not need. */
const READ = { help: "", commands: [] } as const;

function readRate(text: string): ReplayRate {
  if (text === "recorded" || text === "max") return text;
  const rate = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  if (rate > 0) return rate;
  throw invalidArgument(`--rate is "${text}"; expected recorded, max or a number of requests per second.`);
}

function assertEqual({ sent, different, failed, unrecorded, damages }: ReplayOutcome): void {
  if (sent === 0) throw failedPrecondition("No request was sent: the files have none that can be sent again.");
  const problems = [
    ...(different > 0 ? [`${different} of ${sent - failed - unrecorded} answers differ from the recorded ones`] : []),
    ...(failed > 0 ? [`${failed} of ${sent} requests failed`] : []),
    ...(damages.length > 0 ? [`${damages.length} places of the files are damaged`] : []),
  ];
  if (different + failed > 0) throw failedPrecondition(`${problems.join(", and ")}; the results above say which.`);
}
