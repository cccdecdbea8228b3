import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type ErrorCode, failedPrecondition, ServingError } from "../../../errors.ts";
import { threadEntry } from "../../../platform/threads/thread-entry.ts";
import type { NamedModelOptions } from "../../../server/named-model.ts";
import type { ExampleInput } from "../../../tensor/signature/example-inputs.ts";

/** A model served by its own process, as a load from outside meets it. */
interface ServerProcess extends ServedFacts {
  /** Ends the process at once, and waits until it has. */
  close(): Promise<void>;
}

/** Characters of the process' last words. */
const SAID = 2000;

/** Serves a model in a process, which ends with this one; rejects with the reason for which it cannot be loaded. */
export async function startServerProcess(job: ServeJob, signal?: AbortSignal): Promise<ServerProcess> {
  const child = fork(threadEntry("tools/benchmark/server/server-process-entry"), [], {
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced",
    // Ctrl-C at a terminal reaches the whole group: this process decides when its server ends.
    detached: process.platform !== "win32",
  });
  const close = () => {
    signal?.removeEventListener("abort", close);
    return endChild(child);
  };
  signal?.addEventListener("abort", close);
  child.send(job);
  try {
    const report = await reportOf(child);
    if (report.isReady) return { ...report, close };
    throw new ServingError(report.code, report.message);
  } catch (reason) {
    await close();
    throw reason;
  }
}

async function reportOf(child: ChildProcess): Promise<ServeReport> {
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID);
  });
  const ended = once(child, "close").then(([code, signal]) => {
    const [last = ""] = said.trim().split("\n").slice(-1);
    throw failedPrecondition(
      `The model's process ended with ${signal ?? `exit code ${code}`}; ${last || "it said nothing"}.`,
    );
  });
  // Once the process has reported, its end is of no interest.
  ended.catch(() => {});
  return Promise.race([once(child, "message").then(([report]) => report as ServeReport), ended]);
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** A model to serve in its own process. */
export interface ServeJob {
  readonly name: string;
  readonly model: NamedModelOptions;
}

/** The report of that process: the addresses of the model, or the reason for which it cannot be loaded. */
export type ServeReport =
  | ({ readonly isReady: true } & ServedFacts)
  | { readonly isReady: false; readonly code: ErrorCode; readonly message: string };

/** A model that is served. */
export interface ServedFacts {
  /** `HOST:PORT` of gRPC. */
  readonly grpcAddress: string;
  readonly httpUrl: string;
  /** Driver of the first stage. */
  readonly driver: string;
  /** The runtime with its version and place. */
  readonly runtime?: string;
  /** Inputs of sizes on which the model runs. */
  readonly examples: readonly ExampleInput[];
}
