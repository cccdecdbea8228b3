import { describe, expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../../src/remote/remote-service.ts";
import { createServer } from "../../../src/server/server.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createGate, WAITING_HOOKS } from "../gate.ts";
import { loggedEvent, startKserving, writeTestFile } from "../start-kserving.ts";

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
  return client.infer({ id, model: "", signature: "", inputs, metadata: { "x-request-id": id }, signal });
}

describe("a signal", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("%s ends an idle server with 0", async (signal) => {
    const program = startKserving(["--driver", "null", "--port", "0"]);
    await program.event("ready");
    program.kill(signal);
    expect(await program.event("draining")).toMatchObject({ requests: 0 });
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
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

test("an embedded server leaves signals and stray errors to whoever embeds it", async () => {
  const events = ["SIGINT", "SIGTERM", "SIGHUP", "uncaughtException", "unhandledRejection"];
  const counts = () => events.map((event) => process.listenerCount(event));
  const before = counts();
  const server = await createServer({ stages: [{ driver: "null" }] });
  onTestFinished(() => server.close());
  expect(counts()).toEqual(before);
});
