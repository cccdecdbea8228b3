import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import type { SingleRequest } from "../../../src/serving/infer-once.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";
import { echo, ScriptedService, serve } from "../../grpc/scripted-service.ts";

const TIMES = { askMs: 150, answerMs: 300 };
/** Long enough for many pings. */
const LONG_MS = 1500;
const tensors = createTensors([["x", createTensor("float32", [1], Float32Array.of(1))]]);

function request(): SingleRequest {
  const inputs = { kind: "tensors", tensors } as const;
  const call = { id: "1", metadata: {}, signal: new AbortController().signal };
  return { ref: { model: "" }, signature: "", inputs, call };
}

function connect(address: string) {
  const remote = createRemoteService(address, { silence: TIMES });
  onTestFinished(() => remote.close());
  return remote;
}

/** A server in its own process: answers questions for its health, and nothing else. */
const MUTE = `
  const server = require("node:http2").createServer();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    const own = { ":status": 200, "content-type": "application/grpc", "grpc-status": "12" };
    if (headers[":path"].startsWith("/grpc.health")) stream.respond(own, { endStream: true });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/** The server of {@link MUTE}, and a client that is connected to it. */
async function startMute(): Promise<{ server: ChildProcess; remote: ReturnType<typeof connect> }> {
  const server = spawn(process.execPath, ["-e", MUTE], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [port] = await once(server.stdout!, "data");
  const remote = connect(`127.0.0.1:${Number(String(port))}`);
  await expect.poll(() => remote.isReady(), { timeout: 5000 }).toBe(true);
  return { server, remote };
}

test("a server that is stopped during a call fails it, is not ready, and is again when it goes on", async () => {
  const { server, remote } = await startMute();
  const answer = remote.infer(request());
  const early = await Promise.race([answer.catch(() => "over"), sleep(LONG_MS, "open")]);
  expect([early, remote.isReady()]).toEqual(["open", true]);
  server.kill("SIGSTOP");
  await expect(answer).rejects.toMatchObject({ code: "unavailable" });
  await expect.poll(() => remote.isReady(), { timeout: 5000 }).toBe(false);
  await expect(remote.infer(request())).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("cannot be reached"),
  });
  server.kill("SIGCONT");
  await expect.poll(() => remote.isReady(), { timeout: 10_000 }).toBe(true);
});

test("a server that is stopped between calls is noticed by who asks if it is ready", async () => {
  const { server, remote } = await startMute();
  server.kill("SIGSTOP");
  await expect.poll(() => remote.isReady(), { timeout: 5000 }).toBe(false);
});

test("a server that ends connections with too many pings takes long calls", async () => {
  const server = createServer();
  let pings = 0;
  server.on("session", (session) => {
    let strikes = -1;
    session.on("error", () => {});
    session.on("ping", () => {
      pings++;
      if (++strikes > 2) session.goaway(11, 0, Buffer.from("too_many_pings"));
    });
    session.on("stream", (stream, headers) => {
      const own = { ":status": 200, "content-type": "application/grpc", "grpc-message": "no" };
      const respond = (code: string) => {
        strikes = -1;
        stream.respond({ ...own, "grpc-status": code }, { endStream: true });
      };
      if (headers[":path"]?.startsWith("/grpc.health")) respond("12");
      else setTimeout(() => respond("9"), LONG_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const remote = connect(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(remote.infer(request())).rejects.toMatchObject({ code: "failed_precondition", message: "no" });
  expect(pings).toBeGreaterThan(3);
});

test("our own server takes pings during a long call", async () => {
  const service = new ScriptedService(async (incoming) => {
    await sleep(LONG_MS);
    return echo(incoming);
  });
  const remote = connect((await serve(service)).address);
  expect((await remote.infer(request())).version).toBe(1n);
});

test("a server of grpc-js takes pings during a long call", async () => {
  const server = new Server();
  const asIs = (bytes: Buffer) => bytes;
  const predict = {
    path: "/tensorflow.serving.PredictionService/Predict",
    ...{ requestStream: false, responseStream: false },
    ...{ requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
  };
  const late = (_: unknown, answer: (error: null, message: Buffer) => void) =>
    setTimeout(() => answer(null, Buffer.alloc(0)), LONG_MS);
  server.addService({ predict }, { predict: late });
  const port = await new Promise<number>((resolve) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  );
  onTestFinished(() => server.forceShutdown());
  expect((await connect(`127.0.0.1:${port}`).infer(request())).outputs.kind).toBe("tensors");
});
