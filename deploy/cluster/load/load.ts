import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Namespaces } from "../namespaces.ts";
import type { Subject } from "../subjects.ts";
import type { Target, Wire } from "./senders.ts";

/** Requests of clients, and the number of clients. */
export interface LoadOptions {
  readonly target: Target;
  readonly subject: Subject;
  readonly wires: readonly Wire[];
  /** Clients of each wire, each with one request at a time. */
  readonly clients: number;
  /** Pause of a client before its next request. */
  readonly pauseMs: number;
}

/** Outcome of the requests. */
export interface LoadResult {
  readonly sent: number;
  /** Milliseconds of each request that was answered. */
  readonly latencies: readonly number[];
  /** Numbers of failures by their reason. */
  readonly errors: Readonly<Record<string, number>>;
  /** Answers in each second since the start; null is none. */
  readonly perSecond: readonly (number | null)[];
}

/** Requests that go on until they are stopped. */
export interface RunningLoad {
  stop(): Promise<LoadResult>;
}

/** Tries again for half a minute: the node's proxy learns of a new Service a second or more after it is ready. */
const CURL = ["curl", "-sf", "--retry", "30", "--retry-delay", "1", "--retry-all-errors", "-o", "/dev/null"];

/** Starts clients in the cluster's network, once the server can be reached. */
export async function startLoad(namespaces: Namespaces, options: LoadOptions): Promise<RunningLoad> {
  const { host, httpPort } = options.target;
  await namespaces.run([...CURL, `http://${host}:${httpPort}/v2/health/ready`]);
  const entry = join(import.meta.dirname, "load-entry.ts");
  const child = namespaces.start([process.execPath, "--import=tsx", entry, JSON.stringify(options)]);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("a load has pipes");
  const printed = text(stdout);
  return {
    stop: async () => {
      stdin.end();
      return JSON.parse(await printed);
    },
  };
}
