import { Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { fakeModel } from "../../src/tools/testing/testing.ts";
import { authFiles, basic } from "../access/auth-fixture.ts";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";

/** A model whose runs end when the test says so, and the values that it ran, in their order. */
function heldModel() {
  const ran: number[] = [];
  const held: (() => void)[] = [];
  const predict = async ({ x }: { readonly x?: { readonly data: ArrayLike<unknown> } }) => {
    ran.push(Number(x?.data[0]));
    await new Promise<void>((resolve) => held.push(resolve));
    return { y: 1 };
  };
  const release = async (answers: readonly Promise<unknown>[]) => {
    const timer = setInterval(() => held.shift()?.(), 1);
    await Promise.all(answers).finally(() => clearInterval(timer));
  };
  return { driver: fakeModel({ predict: predict as never }), ran, release };
}

/** A server with a held model, which knows clients by a header. */
async function start(options: Partial<ServerOptions> = {}) {
  const model = heldModel();
  const stages = [{ driver: model.driver }];
  const server = await startServer({ models: { slow: { stages } }, clientKey: "header:x-client", ...options });
  const bodyOf = (value: number, priority: number | undefined) => ({
    inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [value] }],
    ...(priority !== undefined && { parameters: { priority } }),
  });
  const http = async (client: string, value: number, priority?: number, headers: Record<string, string> = {}) => {
    const body = JSON.stringify(bodyOf(value, priority));
    const init = { method: "POST", body, headers: { "x-client": client, ...headers } };
    const answer = await fetch(`${server.httpUrl}/v2/models/slow/infer`, init);
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  };
  const call = connectKserve(server.grpcAddress);
  const grpc = async (client: string, value: number, priority?: number) => {
    const metadata = new Metadata();
    metadata.set("x-client", client);
    const inputs = [{ name: "x", datatype: "FP32", shape: [1], contents: { fp32_contents: [value] } }];
    const parameters = priority !== undefined ? { parameters: { priority: { uint64_param: priority } } } : {};
    await call("ModelInfer", { model_name: "slow", inputs, ...parameters }, metadata);
  };
  /** Resolves once so many requests wait or run. */
  const arrived = (count: number) => expect.poll(() => server.inFlight().length).toBe(count);
  return { ...model, arrived, http, grpc };
}

describe.each(["http", "grpc"] as const)("over %s", (transport) => {
  test("a client's priority 1 counts among its own requests, and its neighbour's have every second turn", async () => {
    const { [transport]: send, arrived, release, ran } = await start();
    const answers = [send("greedy", 0, 1)];
    await arrived(1);
    for (let value = 1; value <= 6; value++) answers.push(send("greedy", value, 1));
    await arrived(7);
    for (const value of [100, 101]) {
      answers.push(send("modest", value));
      await arrived(answers.length);
    }
    answers.push(send("modest", 99, 1));
    await arrived(10);
    await release(answers);
    expect(ran.filter((value) => value >= 99)).toEqual([99, 100, 101]);
    expect(ran.map((value) => value >= 99)).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
      true,
      ...[false, false, false],
    ]);
  });
});

test("without clients to tell apart, priority 1 goes before all", async () => {
  const { http, arrived, release, ran } = await start({ clientKey: "address" });
  const answers = [http("", 0)];
  await arrived(1);
  for (const [value, priority] of [[1], [2, 2], [3, 1]] as const) {
    answers.push(http("", value, priority));
    await arrived(answers.length);
  }
  await release(answers);
  expect(ran).toEqual([0, 3, 2, 1]);
});

test("a rule lets a caller's priority count before other clients", async () => {
  const auth = await authFiles('allow: [{ who: "*" }, { who: root, kinds: priority }]');
  const { http, arrived, release, ran } = await start({ auth });
  const send = (name: string, password: string, value: number, priority?: number) =>
    http("", value, priority, { authorization: basic(name, password) });
  const answers: Promise<void>[] = [];
  for (const value of [0, 1, 2]) {
    answers.push(send("alice", "open sesame", value, 1));
    await arrived(answers.length);
  }
  for (const [value, priority] of [[10], [11, 1], [12, 1]] as const) {
    answers.push(send("root", "toor", value, priority));
    await arrived(answers.length);
  }
  await release(answers);
  expect(ran).toEqual([0, 11, 12, 1, 10, 2]);
});

test("callers who may go first, and ask for no priority, take turns", async () => {
  const auth = await authFiles('allow: [{ who: "*" }, { who: [alice, root], kinds: priority }]');
  const { http, arrived, release, ran } = await start({ auth });
  const [alice, root] = [basic("alice", "open sesame"), basic("root", "toor")];
  const answers: Promise<void>[] = [];
  for (const [value, authorization] of [...[0, 1, 2, 3].map((each) => [each, alice] as const), [10, root] as const]) {
    answers.push(http("", value, 0, { authorization }));
    await arrived(answers.length);
  }
  await release(answers);
  expect(ran).toEqual([0, 1, 10, 2, 3]);
});
