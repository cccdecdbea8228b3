import { spawn } from "node:child_process";
import { once } from "node:events";
import { waitUntil } from "../wait-until.ts";

/** A program that serves HTTP. */
export interface ServingProgram {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Answers once the program is up. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Status of that answer: 200 unless it is another one. */
  readonly status?: number;
}

/**
 * Runs a program while `use` works with it, and then kills it: those of KServe and Knative take half a minute to stop.
 * What it printed is printed where something fails.
 */
export async function withProgram(program: ServingProgram, use: () => Promise<void>): Promise<void> {
  const { url, headers = {}, status = 200 } = program;
  const [file, ...args] = program.command as [string];
  const child = spawn(file, args, { env: { ...process.env, ...program.env }, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (printed += bytes));
  try {
    await waitUntil(`${file} answers`, async () => (await fetch(url, { headers })).status === status, 30);
    await use();
  } catch (reason) {
    console.error(printed.slice(-4000));
    throw reason;
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}
