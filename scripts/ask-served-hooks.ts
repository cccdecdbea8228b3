import { startCommand } from "../test/helpers/start-command.ts";

/**
 * Serves two null models with a hook file by a command line, asks over HTTP, ends the server and returns the answer.
 */
export async function askServedHooks(command: readonly string[], cwd: string, hooks: string): Promise<unknown> {
  const flags = [
    "--driver",
    "null",
    "--driver",
    "null",
    "--hooks",
    hooks,
    "--http-enable",
    "--port",
    "0",
    "--http-port",
    "0",
  ];
  const server = await startCommand([...command, ...flags], { cwd });
  try {
    const body = JSON.stringify({ inputs: { x: [1, 2, 3] } });
    const answer = await fetch(`${server.http}/v1/models/default:predict`, { method: "POST", body });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  } finally {
    await server.stop();
  }
}
