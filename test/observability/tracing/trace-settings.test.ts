import { credentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { KserveClient } from "../../protocols/kserve/kserve-oracle.ts";
import { startCollector } from "./start-collector.ts";

const BODY = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] });
const SPAN = "POST /v2/models/:name/infer";
const FIRST = {
  trace_level: ["TIMESTAMPS"],
  trace_rate: "1",
  trace_count: "-1",
  log_frequency: "0",
  trace_mode: "opentelemetry",
};

async function start() {
  const collector = await startCollector();
  const server = await startServer({ tracing: true, allowControl: "local", stages: [{ driver: "null" }] });
  const set = async (changes: object, path = "/v2/trace/setting") => {
    const response = await fetch(server.httpUrl + path, { method: "POST", body: JSON.stringify(changes) });
    return [response.status, await response.json()];
  };
  const infer = async () =>
    (await fetch(`${server.httpUrl}/v2/models/default/infer`, { method: "POST", body: BODY })).text();
  const count = () => collector.spans.filter(({ name }) => name === SPAN).length;
  return { server, set, infer, count };
}

test("the count ends the recording, the level switches it, and null brings the first values back", async () => {
  const { set, infer, count, server } = await start();
  expect(await set({ trace_level: "OFF" })).toMatchObject([200, { trace_level: ["OFF"] }]);
  await infer();
  // This call is one of those that are recorded, if any are.
  expect(await set({ trace_level: ["TIMESTAMPS"], trace_rate: "1", trace_count: "2" })).toMatchObject([
    200,
    { trace_count: "2" },
  ]);
  for (let each = 0; each < 3; each++) await infer();
  expect(await set({ trace_level: null, trace_rate: [], trace_count: null })).toEqual([200, FIRST]);
  await infer();
  await server.close();
  expect(count()).toBe(3);
});

test("probes and scrapes do not count among those that may be recorded", async () => {
  const { server, set, infer, count } = await start();
  await set({ trace_count: "1" });
  const client = new KserveClient(server.grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  for (const path of ["/v2/health/ready", "/metrics", "/v2/models/default", "/nothing"])
    await (await fetch(server.httpUrl + path)).text();
  await new Promise((resolve) => (client.ServerLive as (...args: unknown[]) => void)({}, resolve));
  const settings = await (await fetch(`${server.httpUrl}/v2/trace/setting`)).json();
  expect(settings).toMatchObject({ trace_count: "1" });
  for (let each = 0; each < 2; each++) await infer();
  await server.close();
  expect(count()).toBe(1);
});

test("gRPC has the same settings, and what cannot be is refused with its reason", async () => {
  const { server, set } = await start();
  expect(await set({ trace_rate: "100" })).toMatchObject([200, { trace_rate: "100" }]);
  const client = new KserveClient(server.grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const told = await new Promise((resolve) => {
    (client.TraceSetting as (...args: unknown[]) => void)({}, (_: unknown, answer: unknown) => resolve(answer));
  });
  expect(told).toMatchObject({ settings: { trace_rate: { value: ["100"] }, trace_level: { value: ["TIMESTAMPS"] } } });
  const refusals = [
    [{ trace_level: ["TENSORS"] }, "/v2/trace/setting", "no contents"],
    [{ trace_rate: "0" }, "/v2/trace/setting", "expected an integer of 1 or more"],
    [{ log_frequency: "5" }, "/v2/trace/setting", "trace files"],
    [{ trace_level: "OFF" }, "/v2/models/default/trace/setting", "before its model is known"],
  ] as const;
  for (const [changes, path, reason] of refusals)
    expect(await set(changes, path)).toMatchObject([400, { error: expect.stringContaining(reason) }]);
});
