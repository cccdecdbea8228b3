import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startKserving, writeTestFile } from "../../cli/start-kserving.ts";

const run = promisify(execFile);

const HOOKS = `
export const preprocess = (inputs) => {
  const answer: number = 42;
  debugger;
  return { answer };
};
`;

/**
 * Attaches, stops in the hook, prints a local variable and the server's health, lets the hook go on, ends the server
 * and stays until it is sent away.
 */
const DEBUGGER = `
const [attach, http, pid] = process.argv.slice(1);
const socket = new WebSocket(attach);
const ask = (method, params) => socket.send(JSON.stringify({ id: 1, method, params }));
const predict = () => fetch(http + "/serving-proxy", { method: "POST", body: "{}" }).then((response) => response.json());
socket.onopen = () => ask("Debugger.enable");
let answer;
socket.onmessage = async ({ data }) => {
  const { method, params, result } = JSON.parse(data);
  if (result?.debuggerId) answer = predict();
  if (method === "Debugger.paused") {
    const { callFrameId } = params.callFrames[0];
    ask("Debugger.evaluateOnCallFrame", { callFrameId, expression: "answer" });
  }
  if (result?.result) {
    const health = await fetch(http + "/health");
    ask("Debugger.resume");
    console.log(JSON.stringify({ local: result.result.value, health: health.status, answer: await answer }));
    process.kill(Number(pid), "SIGTERM");
  }
};
`;

test("with --inspect-hooks a debugger attaches to the hooks' thread; the server goes on while a hook is stopped, and ends although the debugger stays", async () => {
  const hooks = await writeTestFile("hooks.ts", HOOKS);
  const flags = ["--port", "0", "--http-enable", "--http-port", "0", "--hook-stall", "1", "--inspect-hooks"];
  const program = startKserving(["--driver", "null", "--hooks", hooks, ...flags]);
  const { url } = await program.event("a debugger can attach to the hooks");
  const { http } = await program.event("ready");
  const client = [
    "--experimental-websocket",
    "--input-type=module",
    "-e",
    DEBUGGER,
    String(url),
    String(http),
    String(program.pid),
  ];
  const { stdout } = await run(process.execPath, client);
  expect(JSON.parse(stdout)).toEqual({ local: 42, health: 200, answer: { answer: 42 } });
  expect(await program.ended()).toMatchObject({ code: 0 });
});
