import { describe, expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { createServer } from "../../../src/server/server.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createGate, WAITING_HOOKS } from "../gate.ts";
import { loggedEvent, startKserving, writeTestFile } from "../start-kserving.ts";

const IDLE = ["--driver", "null", "--port", "0"];
const RETIRING = "not ready any more; requests are answered for a while";

/** A program with one request waiting at a gate. */
async function startBusy(...flags: readonly string[]) {
  const gate = await createGate();
  const hooks = await writeTestFile("hooks.ts", WAITING_HOOKS);
  const options = ["--driver", "null", "--port", "0", "--hooks", hooks, "-o", `gate=${gate.url}`];
  const program = startKserving([...options, ...flags]);
  const { grpc } = await program.event("ready");
  const answer = predict(String(grpc), "slow");
  answer.catch(() => {});
  await gate.reached;
  return { program, gate, answer, address: String(grpc) };
}

function predict(address: string, id: string) {
  const client = createRemoteService(address, {});
  onTestFinished(() => client.close());
  const inputs = { kind: "tensors", tensors: toTensors({ x: [1, 2] }) } as const;
  const { signal } = new AbortController();
  const call = { id, metadata: { "x-request-id": id }, signal };
  return client.infer({ ref: { model: "" }, signature: "", inputs, call });
}

describe("a signal", () => {
  test("SIGINT ends an idle server with 0, without a delay", async () => {
    const program = startKserving([...IDLE, "--shutdown-delay", "600"]);
    await program.event("ready");
    program.kill("SIGINT");
    expect(await program.event("draining")).toMatchObject({ requests: 0 });
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("SIGTERM ends an idle server with 0, after the delay", async () => {
    const program = startKserving([...IDLE, "--shutdown-delay", "0.05"]);
    await program.event("ready");
    program.kill("SIGTERM");
    expect(await program.event(RETIRING)).toMatchObject({ delayMs: 50 });
    expect(await program.event("draining")).toMatchObject({ requests: 0 });
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("SIGTERM first says that it is not ready, and answers on, until a second signal", async () => {
    const program = startKserving([...IDLE, "--http-port", "0", "--shutdown-delay", "600"]);
    const { grpc, http } = await program.event("ready");
    program.kill("SIGTERM");
    await program.event(RETIRING);
    const [ready, live] = await Promise.all(["ready", "live"].map((state) => fetch(`${http}/v2/health/${state}`)));
    expect([ready?.ok, ready?.headers.get("connection"), live?.ok]).toEqual([false, "close", true]);
    expect(await predict(String(grpc), "late")).toMatchObject({ outputs: { tensors: toTensors({ x: [1, 2] }) } });
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  test("lets requests under way finish, and refuses new ones", async () => {
    const { program, gate, answer, address } = await startBusy();
    program.kill("SIGTERM");
    expect(await program.event("draining")).toMatchObject({ requests: 1 });
    await expect(predict(address, "late")).rejects.toMatchObject({ code: "unavailable" });
    gate.open();
    expect(await answer).toMatchObject({ outputs: { tensors: toTensors({ x: [1, 2] }) } });
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("kills the program when the drain timeout passes, and says what was cut off", async () => {
    const { program, answer } = await startBusy("--drain-timeout", "0.2");
    program.kill("SIGTERM");
    const event = await program.event("requests cut off");
    expect(event).toMatchObject({ level: "error", requests: [{ model: "default" }] });
    expect(await program.ended()).toMatchObject({ code: null, signal: "SIGKILL" });
    await expect(answer).rejects.toThrow();
  });

  test("kills the program when it is the second", async () => {
    const { program } = await startBusy("--drain-timeout", "600");
    program.kill("SIGINT");
    await program.event("draining");
    program.kill("SIGINT");
    expect(await program.event("requests cut off")).toMatchObject({ why: "Stopped by a second signal." });
    expect(await program.ended()).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  test("leaves its last words in a log file", async () => {
    const path = await writeTestFile("kserving.log", "");
    const gate = await createGate();
    const hooks = await writeTestFile("hooks.ts", WAITING_HOOKS);
    const port = "0";
    const program = startKserving(
      ["--driver", "null", "--hooks", hooks, "-o", `gate=${gate.url}`, "--log-path", path, "--drain-timeout", "0.1"],
      { KSERVING_PORT: port },
    );
    const { grpc } = await loggedEvent(path, "ready");
    predict(String(grpc), "slow").catch(() => {});
    await gate.reached;
    program.kill("SIGTERM");
    await program.ended();
    expect(await loggedEvent(path, "requests cut off")).toMatchObject({ requests: [{ model: "default" }] });
  });
});

test("a promise that a hook leaves to itself is logged when it is rejected, and the server goes on", async () => {
  const hooks = await writeTestFile(
    "hooks.ts",
    'export const preprocess = (inputs) => { void Promise.reject(new Error("left alone")); return inputs; };',
  );
  const program = startKserving(["--driver", "null", "--port", "0", "--hooks", hooks]);
  const { grpc } = await program.event("ready");
  await predict(String(grpc), "first");
  expect(
    await program.event("a promise that no hook awaits was rejected; await it, or catch its errors"),
  ).toMatchObject({
    err: { message: "left alone" },
  });
  await predict(String(grpc), "second");
});

test("an embedded server leaves signals and stray errors to the program", async () => {
  const events = ["SIGINT", "SIGTERM", "SIGHUP", "uncaughtException", "unhandledRejection"];
  const counts = () => events.map((event) => process.listenerCount(event));
  const before = counts();
  const server = await createServer({ stages: [{ driver: "null" }] });
  onTestFinished(() => server.close());
  expect(counts()).toEqual(before);
});
