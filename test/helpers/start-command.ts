import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A server started by a command line. */
export interface StartedCommand {
  /** `host:port`. */
  readonly grpc: string;
  /** `http://host:port`, where HTTP is served. */
  readonly http: string;
  readonly child: ChildProcess;
  /** Ends it as Ctrl-C would; rejects unless it exits with 0. */
  stop(): Promise<void>;
}

/** Starts `kserving …` on a pipe and waits for its `ready` line; its warnings and errors are passed through. */
export async function startCommand(
  command: readonly string[],
  options: { cwd?: string } = {},
): Promise<StartedCommand> {
  const [program, ...args] = command;
  const child = spawn(program as string, args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
  const { grpc, http } = await readyEvent(child);
  // The rest of its log is not read; an unread pipe would block it.
  child.stdout.resume();
  return { grpc, http, child, stop: () => stop(child) };
}

async function readyEvent(child: ChildProcess): Promise<{ grpc: string; http: string }> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const event = JSON.parse(line);
    if (event.level === "warn" || event.level === "error") process.stderr.write(`${line}\n`);
    if (event.msg === "ready") return event;
  }
  throw new Error("the server ended before it was ready; what it said is above");
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : [child.exitCode];
  child.kill("SIGINT");
  const [code] = await exited;
  if (code !== 0) throw new Error(`the server exited with ${code}`);
}
