import { vi } from "vitest";
import { main } from "../../../src/cli/main.ts";

/** Outcome of a command line. */
export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM", "SIGUSR2"] as const;

/** Runs a command line in this process. */
export async function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<CommandOutcome> {
  const texts: { readonly [Name in "stdout" | "stderr"]: string[] } = { stdout: [], stderr: [] };
  const keep = (name: "stdout" | "stderr") => (text: unknown) => texts[name].push(String(text)) > 0;
  const spies = [
    vi.spyOn(console, "log").mockImplementation((text) => void keep("stdout")(`${text}\n`)),
    vi.spyOn(process.stdout, "write").mockImplementation(keep("stdout")),
    vi.spyOn(process.stderr, "write").mockImplementation(keep("stderr")),
  ];
  const listeners = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  try {
    const code = await main(args, env);
    return { code, stdout: texts.stdout.join(""), stderr: texts.stderr.join("") };
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const signal of SIGNALS) removeOthers(signal, listeners);
  }
}

/** Removes the listeners of a start that failed, whose program would have ended. */
function removeOthers(signal: (typeof SIGNALS)[number], kept: ReadonlySet<NodeJS.SignalsListener>): void {
  for (const listener of process.listeners(signal)) {
    if (!kept.has(listener)) process.off(signal, listener);
  }
}
