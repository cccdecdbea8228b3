import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { startKserving, writeTestFile } from "../cli/start-kserving.ts";

const SLOW_MODEL = fileURLToPath(new URL("../fixtures/models/slow.onnx", import.meta.url));

const WAITING_HOOKS = `
  let url = "";
  export const init_hook = (params: any) => { url = params.gate; };
  export const preprocess = async (inputs: any) => { await fetch(url); return inputs; };`;

/** Holds everybody up who comes, but for the first `letIn`, until it is opened. */
async function createGate({ letIn = 0 } = {}) {
  let arrived = 0;
  let open = () => {};
  let tell = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const server = createServer((_, response) => {
    arrived++;
    tell();
    if (arrived <= letIn) response.end();
    else void opened.then(() => response.end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const have = (count: number) =>
    new Promise<void>((resolve) => {
      tell = () => {
        if (arrived >= count) resolve();
      };
      tell();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open, have };
}

const LOCAL = ["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];

function predictOverGrpc(address: string, x: ReturnType<typeof createTensor>, name = "x") {
  const client = createRemoteService(address, {});
  onTestFinished(() => client.close());
  const inputs = { kind: "tensors", tensors: { [name]: x } } as const;
  const { signal } = new AbortController();
  return client.infer({ ref: { model: "" }, signature: "", inputs, call: { id: "", metadata: {}, signal } });
}

async function predictOverHttp(url: string, value: number): Promise<unknown> {
  const body = JSON.stringify({ instances: [value + 0.5] });
  const answer = await fetch(`${url}/v1/models/default:predict`, { method: "POST", body });
  return ((await answer.json()) as { predictions: unknown }).predictions;
}

test("SIGTERM with 100 requests under way answers them all, refuses new ones and ends with 0", async () => {
  const gate = await createGate();
  const hooks = await writeTestFile("hooks.ts", WAITING_HOOKS);
  const flags = ["--driver", "null", "--hooks", hooks, "-o", `gate=${gate.url}`, "--workers", "4"];
  const program = startKserving([...LOCAL, ...flags]);
  const { grpc, http } = await program.event("ready");
  const one = (value: number) => createTensor("float32", [1], Float32Array.of(value));
  const overGrpc = Array.from({ length: 50 }, (_, value) => predictOverGrpc(String(grpc), one(value)));
  const overHttp = Array.from({ length: 50 }, (_, value) => predictOverHttp(String(http), value));
  await gate.have(100);

  program.kill("SIGTERM");
  expect(await program.event("draining")).toMatchObject({ requests: 100 });
  await expect(predictOverGrpc(String(grpc), one(0))).rejects.toMatchObject({ code: "unavailable" });
  await expect(predictOverHttp(String(http), 0)).rejects.toThrow("fetch failed");
  gate.open();

  const fromGrpc = await Promise.all(overGrpc);
  expect(fromGrpc.map(({ outputs }) => outputs.kind === "tensors" && outputs.tensors.x?.data[0])).toEqual([
    ...Array(50).keys(),
  ]);
  expect(await Promise.all(overHttp)).toEqual(Array.from({ length: 50 }, (_, value) => [value + 0.5]));
  expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
});

test("SIGTERM while a hook thread is being replaced ends the program all the same", async () => {
  const gate = await createGate({ letIn: 2 });
  const hooks = await writeTestFile(
    "hooks.ts",
    `export const init_hook = async ({ gate }: any) => { await fetch(gate); return gate; };
     export const close_hook = (gate: any) => fetch(gate);
     export const preprocess = (inputs: any) => { if (inputs.x.data[0] === 1) process.exit(1); return inputs; };`,
  );
  const echo = fileURLToPath(new URL("../../bench/echo-driver.ts", import.meta.url));
  const model = ["--driver", echo, "--model-path", "none"];
  const program = startKserving([...LOCAL, ...model, "--hooks", hooks, "-o", `gate=${gate.url}`, "--workers", "2"]);
  const { grpc } = await program.event("ready");
  const fatal = createTensor("float32", [1], Float32Array.of(1));
  await expect(predictOverGrpc(String(grpc), fatal)).rejects.toMatchObject({ code: "unavailable" });
  await gate.have(3);
  program.kill("SIGTERM");
  // The other thread's close_hook: the replacement is now ready after the hooks were told to close.
  await gate.have(4);
  gate.open();
  expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
});

describe("a model that is blocked in native code", () => {
  /** A program whose model runs, and will for minutes. */
  async function startStuck(...flags: readonly string[]) {
    const program = startKserving([...LOCAL, "--model-path", SLOW_MODEL, "--threads", "1", ...flags]);
    const { grpc } = await program.event("ready");
    const steps = (count: bigint) => createTensor("int64", [], BigInt64Array.of(count));
    const isWarm = await predictOverGrpc(String(grpc), steps(1n), "iterations");
    expect(isWarm.outputs.kind).toBe("tensors");
    const stuck = predictOverGrpc(String(grpc), steps(10_000_000n), "iterations");
    const waiting = predictOverGrpc(String(grpc), steps(1n), "iterations");
    const outcomes = Promise.allSettled([stuck, waiting]);
    // The main thread goes on while the model runs, so that this tells when both requests have come.
    await expect.poll(() => probe(String(grpc))).toBe(true);
    return { program, outcomes };
  }

  /** Checks that a request that the model has no input for is refused: it came after the others on its way. */
  async function probe(address: string): Promise<boolean> {
    const wrong = createTensor("float32", [1], Float32Array.of(1));
    return predictOverGrpc(address, wrong, "nothing").then(
      () => false,
      (reason) => reason.code === "invalid_argument",
    );
  }

  test.each([
    ["the drain timeout passes", ["--drain-timeout", "0.5"], 1],
    ["a second SIGTERM comes", ["--drain-timeout", "600"], 2],
  ] as const)("is cut off when %s, with what was under way in the log and no abort", async (_, flags, signals) => {
    const { program, outcomes } = await startStuck(...flags);
    program.kill("SIGTERM");
    await program.event("draining");
    if (signals === 2) program.kill("SIGTERM");
    const requests = [{ model: "default" }, { model: "default" }];
    expect(await program.event("requests cut off")).toMatchObject({ level: "error", requests });
    expect(await program.ended()).toMatchObject({ code: null, signal: "SIGKILL", stderr: "" });
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});
