import { createRequire } from "node:module";
import { describe, expect, onTestFinished, test } from "vitest";
import { createServer } from "../../../src/server/server.ts";
import { createGate, WAITING_HOOKS } from "../gate.ts";
import { runKserving, startAtTerminal, startKserving, writeTestFile } from "../start-kserving.ts";

const PROGRAM = createRequire(import.meta.url).resolve("../../../bin/kserving.cjs");

/** Sends one request in TensorFlow Serving's form. */
async function predict(httpUrl: unknown, headers: Readonly<Record<string, string>> = {}) {
  const body = JSON.stringify({ inputs: { x: [1.5, 2] } });
  const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body, headers });
  return { status: response.status, body: await response.json() };
}

async function startNullServer(hooks = {}) {
  const server = await createServer({ stages: [{ driver: "null" }], hooks: { preprocess: (x) => x, ...hooks } });
  onTestFinished(() => server.close());
  return server;
}

/** A proxy with one request waiting at a gate behind its server. */
async function startBusy(...flags: readonly string[]) {
  const gate = await createGate();
  const hooks = await writeTestFile("hooks.ts", WAITING_HOOKS);
  const server = startKserving(["--driver", "null", "--port", "0", "--hooks", hooks, "-o", `gate=${gate.url}`]);
  const { grpc } = await server.event("ready");
  const program = startKserving(["proxy", "--grpc-address", String(grpc), "--http-port", "0", ...flags]);
  const answer = predict((await program.event("ready")).http);
  await gate.reached;
  return { program, gate, answer };
}

describe("kserving proxy", () => {
  test("answers for the server that it is given, and says where", async () => {
    const { grpcAddress } = await startNullServer();
    const program = startKserving(["proxy", "--grpc-address", grpcAddress, "--http-port", "0"]);
    const ready = await program.event("ready");
    expect(ready).toMatchObject({ grpc: grpcAddress, http: expect.stringMatching(/^http:\/\/localhost:\d+$/) });
    expect(await predict(ready.http)).toEqual({ status: 200, body: { outputs: [1.5, 2] } });
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("sends requests elsewhere only where --allow-proxy-headers lets clients say so", async () => {
    const [fixed, other] = await Promise.all([
      startNullServer({ postprocess: () => ({ y: "fixed" }) }),
      startNullServer({ postprocess: () => ({ y: "other" }) }),
    ]);
    const headers = { "Proxy-Addr": "127.0.0.1", "Proxy-Port": String(other.grpcAddress.split(":")[1]) };
    const flags = ["proxy", "--grpc-address", fixed.grpcAddress, "--http-port", "0"];
    const [closed, open] = [startKserving(flags), startKserving([...flags, "--allow-proxy-headers"])];
    expect(await predict((await closed.event("ready")).http, headers)).toMatchObject({ body: { outputs: "fixed" } });
    expect(await predict((await open.event("ready")).http, headers)).toMatchObject({ body: { outputs: "other" } });
  });

  test("finishes requests under way at a signal", async () => {
    const { program, gate, answer } = await startBusy();
    program.kill("SIGTERM");
    expect(await program.event("draining")).toMatchObject({ requests: 1 });
    gate.open();
    expect(await answer).toMatchObject({ status: 200 });
    expect(await program.ended()).toMatchObject({ code: 0 });
  });

  test("ends in time although a server does not answer", async () => {
    const { program, answer } = await startBusy("--drain-timeout", "0.2");
    program.kill("SIGTERM");
    await expect(answer).rejects.toThrow();
    expect(await program.ended()).toMatchObject({ code: 0 });
  });

  test("ends with 1 and one line when its port is in use", async () => {
    const server = await createServer({ stages: [{ driver: "null" }], http: {} });
    onTestFinished(() => server.close());
    const port = String(server.httpUrl?.split(":")[2]);
    const { code, stderr } = await runKserving(["proxy", "--host", "127.0.0.1", "--http-port", port]);
    expect(stderr).toMatch(/^kserving: Cannot listen on 127\.0\.0\.1:\d+: the port is in use[^\n]*\n$/);
    expect(code).toBe(1);
  });

  test.skipIf(process.platform !== "linux")("shows its addresses at a terminal (made by Linux's script)", async () => {
    const program = startAtTerminal(["proxy", "--grpc-address", "models.internal:9000", "--http-port", "0"]);
    const [screen] = await program.output(/[\s\S]*gRPC.*\r\n/);
    expect(screen).toMatch(/HTTP {2}http:\/\/localhost:\d+\r\n {2}gRPC {2}models\.internal:9000\r\n/);
  });
});

test("kserving proxy serves as the program of --http-server-command", async () => {
  const command = `'${process.execPath}' ${PROGRAM} proxy`;
  const program = startKserving([
    "--driver",
    "null",
    "--port",
    "0",
    "--http-port",
    "0",
    "--http-server-command",
    command,
  ]);
  // Of the two programs that share this output, only the proxy has no name.
  const [line] = await program.output(/^\{"level":"info","time":"[^"]*","grpc":.*"ready"\}$/m);
  expect(await predict(JSON.parse(line).http)).toEqual({ status: 200, body: { outputs: [1.5, 2] } });
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
});
