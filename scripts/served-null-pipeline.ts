import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Serves two null models with a hook file by a command line, asks over HTTP, ends the server and returns the answer. */
export async function askServedHooks(command: readonly string[], cwd: string, hooks: string): Promise<unknown> {
  const [program, ...args] = [...command, "--driver", "null", "--driver", "null", "--hooks", hooks];
  const child = spawn(program as string, [...args, "--http-enable", "--port", "0", "--http-port", "0"], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await readyUrl(child);
    const body = JSON.stringify({ inputs: { x: [1, 2, 3] } });
    const answer = await fetch(`${url}/v1/models/default:predict`, { method: "POST", body });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  } finally {
    await end(child);
  }
}

/** On a pipe the server logs JSON lines; the one that says `ready` has the address. */
async function readyUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const event = JSON.parse(line);
    if (event.msg === "ready") return event.http;
  }
  throw new Error("the server ended before it was ready");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const [code] = await exited;
  if (code !== 0) throw new Error(`the server exited with ${code}`);
}
