import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { loggedEvent, startAtTerminal, startKserving, writeTestFile } from "../start-kserving.ts";

const run = promisify(execFile);
const model = new URL("../../fixtures/models/half-plus-two.onnx", import.meta.url).pathname;

describe.skipIf(process.platform !== "linux")("at a terminal (made by Linux's script)", () => {
  test("marks a request that was not tried, since hooks take it, and that fits a model of floats", async () => {
    const hooks = await writeTestFile("hooks.ts", "export const preprocess = (inputs) => inputs;\n");
    const program = startAtTerminal(["--model-path", model, "--hooks", hooks, "--port", "0", "--http-port", "0"]);
    const [screen, line = ""] = await program.output(/Try it; [^\r]*:\s+(curl [^\r]*)\r\n/);
    expect(screen).toContain("sizes open, of which these are guessed and were not tried");
    const { stdout } = await run("sh", ["-c", line.replace("curl ", "curl -s ")]);
    expect(JSON.parse(stdout)).toMatchObject({ outputs: [2] });
  });

  test("shows what is loaded, the stages, links and a request, and stops with a word", async () => {
    const program = startAtTerminal([
      "--model-path",
      model,
      "--name",
      "half",
      "--port",
      "0",
      "--http-enable",
      "--http-port",
      "0",
    ]);
    const [screen] = await program.output(/^[\s\S]*?Try it:\s+curl .*\r\n/);
    expect(screen).toContain(`Loading ${model} ...`);
    expect(screen).toMatch(/# {2}Driver {2}Model +Inputs → outputs +Loaded in/);
    expect(screen).toMatch(/1 {2}onnx {4}\S+ {2}x float32\[/);
    expect(screen).toMatch(/Runtime {2}ONNX Runtime \d+\.\d+\.\d+ of the \S+ \S+/);
    expect(screen).toMatch(/HTTP {2}http:\/\/localhost:\d+\r\n/);
    expect(screen).toMatch(/Page {2}http:\/\/localhost:\d+\/ui\r\n/);
    expect(screen).toMatch(/gRPC {2}localhost:\d+\r\n/);
    expect(screen).not.toContain("0.0.0.0");
    expect(screen).not.toContain('{"level"');
    program.type("\x03");
    expect(await program.ended()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Stopping ...\r\n(.* model state .*\r\n)*Stopped.\r\n$/),
    });
  });

  test("says of hooks that they answer in parts, and shows a request that takes these", async () => {
    const code = `
      export const inputs = [{ name: "x", dtype: "int32", shape: [2] }];
      export async function* process({ x }) { for (const value of x.data) yield { y: Int32Array.of(value + 1) }; }`;
    const hooks = await writeTestFile("hooks.mjs", code);
    const program = startAtTerminal(["--driver", "null", "--hooks", hooks, "--port", "0", "--http-port", "0"]);
    const [screen, line = ""] = await program.output(/^[\s\S]*Try it [^\r]*:\s+(curl [^\r]*)\r\n/);
    expect(screen).toMatch(/Answers {2}in parts\r\n/);
    const { stdout } = await run("sh", ["-c", line.replace("curl ", "curl -s ")]);
    const parts = stdout.trimEnd().split("\n");
    expect(parts.map((part) => JSON.parse(part))).toEqual([1, 1].map((y) => ({ outputs: [y] })));
    const overGrpc = startAtTerminal([hooks, "--http-enable=false", "--port", "0"]);
    const [, request = ""] = await overGrpc.output(/(npx .*)\r\n/);
    expect(request).toContain("PredictionService/PredictStreamed");
    const answer = await run("/bin/sh", ["-c", request]);
    expect(answer.stdout.match(/"DT_INT32"/g)).toHaveLength(2);
  });

  test("the request that it shows is answered", async () => {
    const program = startAtTerminal(["--model-path", model, "--port", "0", "--http-enable", "--http-port", "0"]);
    const [, line = ""] = await program.output(/(curl .*)\r\n/);
    expect(JSON.parse((await run("/bin/sh", ["-c", `${line} -sS`])).stdout)).toEqual({ outputs: [2] });
  });

  test("without HTTP it says how to turn that on, and shows a gRPC request, which is answered", async () => {
    const program = startAtTerminal(["--model-path", model, "--port", "0"]);
    await program.output(/HTTP {2}off; --http-enable turns it on\r\n/);
    const [, line = ""] = await program.output(/(npx .*)\r\n/);
    const { stdout } = await run("/bin/sh", ["-c", line]);
    expect(JSON.parse(stdout)).toMatchObject({ outputs: { y: { dtype: "DT_FLOAT", floatVal: [2] } } });
  });
});

test.skipIf(process.platform !== "linux")("closing the terminal stops the program as SIGTERM does", async () => {
  const log = await writeTestFile("kserving.log", "");
  const program = startAtTerminal(["--driver", "null", "--port", "0", "--log-path", log]);
  await program.output(/gRPC/);
  program.kill("SIGKILL");
  expect(await loggedEvent(log, "stopped")).toMatchObject({ level: "info" });
});

test("on a pipe the same facts are one event, and every line is JSON", async () => {
  const program = startKserving(["--model-path", model, "--port", "0"]);
  expect(await program.event("loading")).toMatchObject({ models: [{ path: model }] });
  expect(await program.event("ready")).toMatchObject({
    level: "info",
    name: "default",
    grpc: expect.stringMatching(/^localhost:\d+$/),
    stages: [
      { index: 1, driver: "onnx", path: model, inputs: [{ name: "x", dtype: "float32" }], outputs: [{ name: "y" }] },
    ],
  });
  program.kill("SIGTERM");
  const { stdout } = await program.ended();
  for (const line of stdout.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
});
