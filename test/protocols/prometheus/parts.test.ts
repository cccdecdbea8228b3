import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { connectKserve, streamKserve } from "../../helpers/kserve-grpc.ts";
import { startServer } from "../../helpers/start-server.ts";
import { postForParts } from "../../proxy/read-parts.ts";

/** Counts to `to`; then it fails for a number above 10, and goes on for ever for one above 100. */
const COUNTING: Hooks = {
  inputs: [{ name: "to", dtype: "int32", shape: [1] }],
  async *process({ to }, ctx) {
    const last = Number(to?.data[0]);
    for (let number = 0; number < last % 10; number++) yield { number };
    if (last > 100) await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    else if (last > 10) throw new Error("as asked");
  },
};
const LABELS = 'model="counting",version="1"';

async function start() {
  const models = { counting: { driver: "null", hooks: COUNTING }, plain: { driver: "null" } };
  const { httpUrl, grpcAddress } = await startServer({ models });
  const generate = (to: number, headers: Record<string, string> = {}) =>
    postForParts(`${httpUrl}/v2/models/counting/generate_stream`, { to }, headers);
  const stream = (...numbers: readonly number[]) => {
    const inputs = [{ name: "to", datatype: "INT32", shape: [1] }];
    const requests = numbers.map((to) => ({
      model_name: "counting",
      inputs,
      raw_input_contents: [Buffer.from(Int32Array.of(to).buffer)],
    }));
    return streamKserve(grpcAddress, requests, new Metadata());
  };
  /** Values of metrics about parts, by their names and what follows the model's labels. */
  const measured = async (names = "kserving_(?:parts|streams|time_(?:to_first|between)_parts?_seconds_count)") => {
    const text = await (await fetch(`${httpUrl}/metrics?names=triton`)).text();
    const lines = text.matchAll(new RegExp(`^(${names}\\w*){${LABELS},?(?:ended_by=)?(.*?)} (.*)$`, "gm"));
    return Object.fromEntries(Array.from(lines, ([, name, end = "", value]) => [name + end, Number(value)]));
  };
  return { httpUrl, grpcAddress, generate, stream, measured };
}

describe("answers in parts", () => {
  it("are counted by what ended them, over every wire, with their parts and the times of these", async () => {
    const { generate, stream, measured } = await start();
    expect(await measured()).toEqual({});
    await (await generate(3)).rest();
    await (await generate(12)).rest();
    await stream(0, 2);
    const open = await generate(101);
    await open.next();
    expect(await measured()).toMatchObject({ kserving_streams_open: 1 });
    open.leave();
    await expect.poll(measured).toMatchObject({ kserving_streams_open: 0 });
    await (await generate(101, { "x-request-timeout-ms": "2000" })).rest();
    expect(await measured()).toEqual({
      kserving_parts_total: 9,
      kserving_time_to_first_part_seconds_count: 5,
      kserving_time_between_parts_seconds_count: 4,
      kserving_streams_open: 0,
      'kserving_streams_total"server"': 3,
      'kserving_streams_total"client"': 1,
      'kserving_streams_total"error"': 1,
      'kserving_streams_total"deadline"': 1,
    });
  });

  it("have the time to their first part under Triton's name", async () => {
    const { generate, measured } = await start();
    for (let turn = 0; turn < 2; turn++) await (await generate(3)).rest();
    const name = "nv_inference_first_response_histogram_ms";
    const { [`${name}_count`]: count, [`${name}_sum`]: ms = 0 } = await measured(`${name}_(?:count|sum)`);
    expect([count, ms > 0]).toEqual([2, true]);
    const { kserving_time_to_first_part_seconds_sum: seconds = 0 } = await measured("kserving_time_to_first_\\w+_sum");
    expect(ms).toBeCloseTo(seconds * 1000);
  });

  it("have statistics by the numbers of their parts, as Triton has them", async () => {
    const { httpUrl, grpcAddress, generate, stream } = await start();
    const ofHttp = async (model: string) => {
      const answer = await (await fetch(`${httpUrl}/v2/models/${model}/stats`)).json();
      return (answer as { model_stats: { response_stats: Record<string, Record<string, unknown>> }[] }).model_stats[0]!;
    };
    expect((await ofHttp("counting")).response_stats).toEqual({});
    await stream(2);
    await (await generate(11)).rest();
    await (await generate(101, { "x-request-timeout-ms": "2000" })).rest();
    const times = (count: number) => ({ count, ns: count === 0 ? 0 : expect.any(Number) });
    const { response_stats: parts } = await ofHttp("counting");
    const counts = { compute_infer: 0, compute_output: 0, success: 0, fail: 0, empty_response: 0, cancel: 0 };
    const place = (some: Partial<typeof counts>) =>
      Object.fromEntries(Object.entries({ ...counts, ...some }).map(([name, count]) => [name, times(count)]));
    expect(parts).toEqual({
      0: place({ compute_infer: 3, compute_output: 3, success: 3 }),
      1: place({ compute_infer: 2, compute_output: 1, success: 1, fail: 1, cancel: 1 }),
      2: place({ compute_infer: 1, empty_response: 1 }),
    });
    const { model_stats: stats } = await connectKserve(grpcAddress)("ModelStatistics", { name: "counting" });
    const [{ response_stats: overGrpc }] = stats as [
      { response_stats: Record<string, { success: { count: string } }> },
    ];
    expect([Object.keys(overGrpc), overGrpc[0]?.success.count]).toEqual([["0", "1", "2"], "3"]);
    await connectKserve(grpcAddress)("ModelInfer", {
      model_name: "plain",
      inputs: [{ name: "x", datatype: "UINT8", shape: [1] }],
      raw_input_contents: [Buffer.of(1)],
    });
    expect((await ofHttp("plain")).response_stats).toEqual({});
  });

  it("are told apart up to their 256th part alone", async () => {
    const hooks: Hooks = {
      async *process() {
        for (let number = 0; number < 1000; number++) yield { number };
      },
    };
    const { httpUrl } = await startServer({ models: { counting: { driver: "null", hooks } } });
    const reader = await postForParts(`${httpUrl}/v2/models/counting/generate_stream`, { x: 1 });
    expect(await reader.rest()).toHaveLength(1000);
    const { model_stats: stats } = (await (await fetch(`${httpUrl}/v2/models/stats`)).json()) as {
      model_stats: readonly { response_stats: object }[];
    };
    expect(Object.keys(stats[0]?.response_stats ?? {})).toHaveLength(256);
  });
});
