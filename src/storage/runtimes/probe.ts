import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** Built, as child processes need it on Node 20; the same from src/ and from dist/. */
const ENTRY = new URL("../../../dist/runtime-probe-entry.js", import.meta.url);

/** Facts that a runtime reports once it is loaded. */
export interface RuntimeFacts {
  readonly version: string;
  /** Devices (CPU, GPU:0), or the execution providers of ONNX Runtime. */
  readonly devices: readonly string[];
  /** The reason why it cannot use the devices that it is meant for. */
  readonly lacks?: string;
}

/** The outcome of loading a runtime. */
export type Probe = ({ readonly loads: true } & RuntimeFacts) | { readonly loads: false; readonly reason: string };

/** A runtime that can be probed: its library, or the folder of its npm package. */
export interface ProbeTarget {
  readonly runtime: string;
  readonly library: string;
}

/** A cold disk takes its time to give 850 MB. */
const TIMEOUT_MS = 60_000;

/** Loads a runtime in a separate process, so that a broken library cannot crash this one; never rejects. */
export async function probeRuntime({ runtime, library }: ProbeTarget): Promise<Probe> {
  const child = fork(ENTRY, [runtime, library], {
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4096);
  });
  return firstOf(child, () => said);
}

async function firstOf(child: ChildProcess, said: () => string): Promise<Probe> {
  const answered = once(child, "message").then(([probe]) => probe as Probe);
  const ended = once(child, "close").then(([code, signal]): Probe => {
    const why = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
    const [last = ""] = said().trim().split("\n").slice(-1);
    return { loads: false, reason: `the process that loaded it ${why}${last === "" ? "" : `: ${last}`}` };
  });
  try {
    return await Promise.race([answered, ended]);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}
