import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { type ClientDuplexStream, credentials, Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { frameBytes } from "../../../src/grpc/framed-message.ts";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { connectKserve, streamKserve } from "../../helpers/kserve-grpc.ts";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { KserveClient, kserveOracle } from "./kserve-oracle.ts";

type Stream = ClientDuplexStream<Plain, Plain>;

const STREAM_HEADERS = { ":method": "POST", ":path": "/inference.GRPCInferenceService/ModelStreamInfer" };

/** Counts to `x`, and fails at 13. */
const COUNTING = `
  export async function* process({ x }) {
    const last = Number(x.data[0]);
    for (let number = 1; number <= last; number++) {
      if (number === 13) throw new Error("no thirteenth part");
      yield { number: Int32Array.of(number) };
    }
  }`;

function request(id: string, x: number, more: Plain = {}): Plain {
  const input = { name: "x", datatype: "INT32", shape: [1] };
  const raw = Buffer.from(Int32Array.of(x).buffer);
  return { model_name: "counting", id, inputs: [input], raw_input_contents: [raw], ...more };
}

const WITH_END = { parameters: { triton_enable_empty_final_response: { bool_param: true } } };

/** A server with a model that answers in parts from a hook thread, and one that answers once. */
async function start(options: Partial<ServerOptions> = {}) {
  const hooks = `${tempFolder({ "hooks.ts": COUNTING })}/hooks.ts`;
  const models = { counting: { stages: [{ driver: "null" }], hooks }, plain: { driver: "null" } };
  const server = await startServer({ models, ...options });
  const stream = (...requests: readonly Plain[]) => streamKserve(server.grpcAddress, requests, new Metadata());
  return { server, stream, call: connectKserve(server.grpcAddress) };
}

function open(address: string, metadata = new Metadata()): Stream {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return (client.ModelStreamInfer as (metadata: Metadata) => Stream).call(client, metadata);
}

function responseOf({ infer_response: answer }: Plain): Plain {
  return answer as Plain;
}

/** The id of a message, its number, true if it is the last one, and the error. */
function told({ error_message: error, infer_response: answer }: Plain): unknown[] {
  const { id, parameters, raw_output_contents: contents } = (answer ?? {}) as Plain;
  const [raw] = (contents ?? []) as Buffer[];
  const final = (parameters as Plain | undefined)?.triton_final_response as Plain | undefined;
  return [id, raw?.readInt32LE(), final?.bool_param, ...(error === "" ? [] : [error])];
}

describe("a model that answers in parts, over ModelStreamInfer,", () => {
  it("gives each part as a message that says that it is not the last one, and no end unless it is asked for", async () => {
    const { stream } = await start();
    expect((await stream(request("a", 3))).map(told)).toEqual([
      ["a", 1, false],
      ["a", 2, false],
      ["a", 3, false],
    ]);
    expect(await stream(request("a", 0))).toEqual([]);
  });

  it("ends with an empty message that says so where its client asks", async () => {
    const { stream } = await start();
    const answers = await stream(request("a", 2, WITH_END), request("b", 0, WITH_END));
    const ends = answers.filter((answer) => told(answer)[2] === true);
    expect(answers.filter((answer) => told(answer)[2] === false).map(told)).toEqual([
      ["a", 1, false],
      ["a", 2, false],
    ]);
    expect(ends.map(responseOf).toSorted((one, other) => (String(one.id) < String(other.id) ? -1 : 1))).toMatchObject(
      ["a", "b"].map((id) => ({
        model_name: "counting",
        model_version: "1",
        id,
        parameters: { triton_final_response: { bool_param: true } },
        outputs: [],
        raw_output_contents: [],
      })),
    );
  });

  it("keeps the order within each of many requests, none of which waits for another", async () => {
    const { stream } = await start();
    const requests = Array.from({ length: 100 }, (_, index) => request(String(index), index % 12));
    const answers = (await stream(...requests)).map(told);
    for (let index = 0; index < 100; index++) {
      const own = answers.filter(([id]) => id === String(index)).map(([, number]) => number);
      expect(own).toEqual(Array.from({ length: index % 12 }, (_, number) => number + 1));
    }
  });

  it("shares a stream with one that answers once, whose answers are marked as the last and stay in order", async () => {
    const { stream } = await start();
    const plain = (id: string) => request(id, 7, { model_name: "plain" });
    const answers = (await stream(plain("1"), request("a", 2), plain("2"), request("b", 1), plain("3"))).map(told);
    expect(answers.filter(([id]) => ["1", "2", "3"].includes(id as string))).toEqual([
      ["1", 7, true],
      ["2", 7, true],
      ["3", 7, true],
    ]);
    expect(answers.filter(([id]) => id === "a")).toEqual([
      ["a", 1, false],
      ["a", 2, false],
    ]);
  });

  it("does not let an answer behind it overtake one before it", async () => {
    const gate = createDeferred<void>();
    const slow: Hooks = {
      process: async () => {
        await gate.promise;
        return { number: Int32Array.of(1) };
      },
    };
    const parted: Hooks = {
      async *process() {
        yield { number: Int32Array.of(2) };
      },
    };
    const stages = [{ driver: "null" }];
    const server = await startServer({
      models: { slow: { stages, hooks: slow }, parted: { stages, hooks: parted }, plain: { driver: "null" } },
    });
    const names = ["slow", "parted", "plain"];
    const all = streamKserve(
      server.grpcAddress,
      names.map((name) => request(name, 3, { model_name: name })),
      new Metadata(),
    );
    const finished = async () => {
      const { model_stats: stats } = await connectKserve(server.grpcAddress)("ModelStatistics", { name: "plain" });
      return ((stats as Plain[])[0]?.inference_count as string) ?? "";
    };
    await expect.poll(finished).toBe("1");
    gate.resolve();
    expect((await all).map(told)).toEqual([
      ["parted", 2, false],
      ["slow", 1, true],
      ["plain", 3, true],
    ]);
  });

  it("answers in parts too where a request is routed to it by its inputs, from a name that answers once", async () => {
    const once: Hooks = { process: () => ({ number: Int32Array.of(0) }) };
    const parted: Hooks = {
      async *process() {
        yield { number: Int32Array.of(1) };
        yield { number: Int32Array.of(2) };
      },
    };
    const plain = {
      driver: "null",
      hooks: once,
      split: { counting: 60, parted: 40 },
      sticky: { inputs: "all" },
    } as const;
    const server = await startServer({ models: { counting: plain, parted: { driver: "null", hooks: parted } } });
    const requests = Array.from({ length: 24 }, (_, index) => request(String(index), index));
    const answers = (await streamKserve(server.grpcAddress, requests, new Metadata())).map(told);
    const of = (id: string) => answers.filter((answer) => answer[0] === id).map(([, ...rest]) => rest);
    const kinds = new Set(requests.map(({ id }) => JSON.stringify(of(String(id)))));
    expect(kinds).toEqual(
      new Set([
        JSON.stringify([[0, true]]),
        JSON.stringify([
          [1, false],
          [2, false],
        ]),
      ]),
    );
  });

  it("that fails after parts ends with the error, its model and the mark of the last, and the stream goes on", async () => {
    const { stream } = await start();
    const answers = await stream(request("a", 20));
    expect(answers.slice(0, 12).map(told)).toEqual(Array.from({ length: 12 }, (_, index) => ["a", index + 1, false]));
    expect(answers.slice(12)).toMatchObject([
      {
        error_message: "The hook process failed: no thirteenth part",
        infer_response: {
          model_name: "counting",
          model_version: "1",
          id: "a",
          parameters: { triton_final_response: { bool_param: true } },
          outputs: [],
          raw_output_contents: [],
        },
      },
    ]);
    expect((await stream(request("a", 20), request("b", 1))).map(told)).toContainEqual(["b", 1, false]);
  });

  it("refuses a request before it runs with the error and the id alone", async () => {
    const { stream } = await start();
    const parameters = { triton_enable_empty_final_response: { string_param: "yes" } };
    const requests = [
      request("a", 1, { model_name: "no" }),
      request("b", 1, { parameters }),
      request("c", 1, { model_name: "" }),
    ];
    const answers = (await stream(...requests)).toSorted((a, b) =>
      `${responseOf(a).id}`.localeCompare(`${responseOf(b).id}`),
    );
    expect(answers.map(responseOf).map(({ id, model_name: model, parameters }) => [id, model, parameters])).toEqual([
      ["a", "", {}],
      ["b", "", {}],
      ["c", "", {}],
    ]);
    expect(answers.map(({ error_message: error }) => error)).toEqual([
      "Request for unknown model: 'no' is not found. This server has counting, plain.",
      "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param.",
      "Request for unknown model: '' is not found. This server has counting, plain.",
    ]);
  });

  it("refuses one for which there is no place with the error and the id alone", async () => {
    const gate = createDeferred<void>();
    const hooks: Hooks = {
      async *process() {
        await gate.promise;
        yield { number: Int32Array.of(1) };
      },
    };
    const server = await startServer({ models: { counting: { driver: "null", hooks } }, maxQueue: 1 });
    const stream = open(server.grpcAddress);
    stream.write(request("a", 1));
    stream.write(request("b", 1));
    const [refused] = await once(stream, "data");
    expect(refused.error_message).toContain("--max-queue");
    expect(responseOf(refused)).toMatchObject({ id: "b", model_name: "", model_version: "", parameters: {} });
    gate.resolve();
    const [answer] = await once(stream, "data");
    expect(told(answer)).toEqual(["a", 1, false]);
    stream.end();
  });

  it("ends the stream with a status at the first error where its client asks", async () => {
    const { server } = await start();
    const metadata = new Metadata();
    metadata.set("triton_grpc_error", "true");
    const stream = open(server.grpcAddress, metadata);
    stream.write(request("a", 20));
    const numbers: unknown[] = [];
    const read = async () => {
      for await (const answer of stream) numbers.push(told(answer as Plain)[1]);
    };
    await expect(read()).rejects.toMatchObject({ code: status.INTERNAL });
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  });

  it("gives outputs that are asked for, and refuses them in shared memory", async () => {
    const { stream } = await start();
    expect((await stream(request("a", 1, { outputs: [{ name: "number" }] }))).map(told)).toEqual([["a", 1, false]]);
    const [missing] = await stream(request("a", 1, { outputs: [{ name: "other" }] }));
    expect(missing?.error_message).toContain("other");
  });
});

describe("a model that answers in parts, where one answer is taken,", () => {
  it("answers with its only part, and is refused with Triton's text and what to do for any other number", async () => {
    const { server, call } = await start();
    const answer = await call("ModelInfer", request("a", 1));
    expect((answer.raw_output_contents as Buffer[])[0]?.readInt32LE()).toBe(1);
    for (const x of [0, 2])
      await expect(call("ModelInfer", request("a", x))).rejects.toMatchObject({
        code: status.UNIMPLEMENTED,
        details: expect.stringMatching(
          /^ModelInfer RPC doesn't support models with decoupled transaction policy\. .*ModelStreamInfer/,
        ),
      });
    const post = async (x: number) => {
      const inputs = [{ name: "x", datatype: "INT32", shape: [1], data: [x] }];
      const response = await fetch(`${server.httpUrl}/v2/models/counting/infer`, {
        method: "POST",
        body: JSON.stringify({ inputs }),
      });
      return [response.status, await response.json()];
    };
    expect(await post(1)).toMatchObject([200, { outputs: [{ name: "number", data: [1] }] }]);
    expect(await post(2)).toMatchObject([
      501,
      { error: expect.stringMatching(/^HTTP end point doesn't support models with decoupled transaction policy\. /) },
    ]);
  });

  it("answers with its only part over the other protocols too, and is refused there with what to do", async () => {
    const { server } = await start();
    const post = async (path: string, body: object) => {
      const response = await fetch(server.httpUrl + path, { method: "POST", body: JSON.stringify(body) });
      return [response.status, await response.json()];
    };
    const routes = [
      ["/v1/models/counting:predict", (x: number) => ({ inputs: { x: [x] } })],
      ["/predict/counting", (x: number) => ({ inputs: { x: { dtype: 3, data: [x] } } })],
    ] as const;
    for (const [path, body] of routes) {
      expect((await post(path, body(1)))[0]).toBe(200);
      expect(await post(path, body(2))).toMatchObject([
        501,
        { error: expect.stringContaining("The model counting answers in parts and gave more than one part") },
      ]);
    }
  });

  it("joins its parts if its hooks can", async () => {
    const hooks: Hooks = {
      async *process() {
        for (let number = 1; number <= 3; number++) yield { number };
      },
      collect: (parts) => ({ number: parts.map(({ number }) => number.data[0]) }),
    };
    const server = await startServer({ models: { counting: { stages: [{ driver: "null" }], hooks } } });
    const { raw_output_contents: contents } = await connectKserve(server.grpcAddress)("ModelInfer", request("a", 0));
    expect([0, 4, 8].map((at) => (contents as Buffer[])[0]?.readInt32LE(at))).toEqual([1, 2, 3]);
    expect((await streamKserve(server.grpcAddress, [request("a", 0)], new Metadata())).map(told)).toEqual([
      ["a", 1, false],
      ["a", 2, false],
      ["a", 3, false],
    ]);
  });

  it("is described as decoupled", async () => {
    const { server, call } = await start();
    const config = async (name: string) =>
      ((await call("ModelConfig", { name })).config as Plain).model_transaction_policy;
    expect([await config("counting"), await config("plain")]).toEqual([{ decoupled: true }, { decoupled: false }]);
    const response = await fetch(`${server.httpUrl}/v2/models/counting/config`);
    expect(await response.json()).toMatchObject({ model_transaction_policy: { decoupled: true } });
  });
});

describe("a client of a model that answers in parts", () => {
  it("that leaves after the first part stops it, and gives back what it held", async () => {
    let [asked, left] = [0, 0];
    const hooks: Hooks = {
      async *process() {
        try {
          for (;;) yield { number: Int32Array.of(++asked) };
        } finally {
          left++;
        }
      },
    };
    const server = await startServer({ models: { counting: { stages: [{ driver: "null" }], hooks } } });
    const streams = Array.from({ length: 20 }, () => open(server.grpcAddress));
    for (const stream of streams) {
      stream.on("error", () => {});
      stream.write(request("a", 1));
      await new Promise((resolve) => stream.once("data", resolve));
      stream.cancel();
    }
    await expect.poll(() => left).toBe(20);
    const before = asked;
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(asked).toBe(before);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  it("that does not read does not keep others waiting, and holds no more than a window", async () => {
    let asked = 0;
    const hooks: Hooks = {
      async *process({ x }) {
        for (let number = 0; number < Number(x?.data[0]); number++) {
          asked++;
          yield { number: new Int32Array(25_000).fill(number) };
        }
      },
    };
    const server = await startServer({ models: { counting: { stages: [{ driver: "null" }], hooks } } });
    const session = connectHttp2(`http://${server.grpcAddress}`);
    onTestFinished(() => session.destroy());
    const idle = session.request({ ...STREAM_HEADERS, "content-type": "application/grpc", te: "trailers" });
    idle.on("error", () => {});
    for (const frame of frameBytes(kserveOracle.encodeRequest(request("a", 1_000_000)))) idle.write(frame);
    let before = -1;
    const isStill = () => {
      const wasStill = asked === before && asked > 0;
      before = asked;
      return wasStill;
    };
    await expect.poll(isStill, { interval: 200, timeout: 10_000 }).toBe(true);
    expect(asked).toBeLessThan(200);
    expect(
      (await streamKserve(server.grpcAddress, [request("b", 2)], new Metadata())).map((one) => told(one)[0]),
    ).toEqual(["b", "b"]);
    idle.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  it.each(["grpc", "http"])(
    "that does not read over %s holds its part once, and others have the rest",
    async (wire) => {
      const code = "export const process = async function* () { yield { y: new Int32Array(6_000_000) }; };";
      const hooks = `${tempFolder({ "hooks.ts": code })}/hooks.ts`;
      const models = { large: { stages: [{ driver: "null" }], hooks }, plain: { driver: "null" } };
      const { grpcAddress, httpUrl } = await startServer({ models, maxQueueBytes: 32 * 2 ** 20 });
      if (wire === "grpc") {
        const session = connectHttp2(`http://${grpcAddress}`);
        onTestFinished(() => session.destroy());
        const idle = session.request({ ...STREAM_HEADERS, "content-type": "application/grpc", te: "trailers" });
        idle.end(Buffer.concat(frameBytes(kserveOracle.encodeRequest({ ...request("a", 1), model_name: "large" }))));
        await once(idle, "response");
      } else await postForParts(`${httpUrl}/v2/models/large/generate_stream`, { x: 1 });
      const others = Array.from({ length: 3 }, () =>
        connectKserve(grpcAddress)("ModelInfer", { ...request("b", 1), model_name: "plain" }),
      );
      expect((await Promise.all(others)).map(({ id }) => id)).toEqual(["b", "b", "b"]);
    },
  );

  it("is counted and logged once for each request", async () => {
    const { log, events } = createEventLog();
    const { server, stream } = await start({ accessLog: true, log });
    await stream(request("a", 5), request("b", 20));
    const stats = await connectKserve(server.grpcAddress)("ModelStatistics", { name: "counting" });
    const [own] = stats.model_stats as Plain[];
    const counts = own?.inference_stats as Record<string, Plain>;
    expect([counts.success?.count, counts.fail?.count]).toEqual(["1", "1"]);
    const lines = () => events.filter(({ msg, model }) => msg === "request" && model === "counting");
    await expect
      .poll(() => lines().map(({ requestId, status }) => [requestId, status]))
      .toEqual([
        ["a", 0],
        ["b", status.INTERNAL],
      ]);
  });

  it.skipIf(missingListeners())("gets the same from a server with several threads that listen", async () => {
    const { stream, call } = await start({ listeners: 2 });
    expect((await stream(request("a", 3, WITH_END))).map(told)).toEqual([
      ["a", 1, false],
      ["a", 2, false],
      ["a", 3, false],
      ["a", undefined, true],
    ]);
    await expect(call("ModelInfer", request("a", 2))).rejects.toMatchObject({
      details: expect.stringMatching(/^ModelInfer RPC doesn't support models with decoupled transaction policy\. /),
    });
  });
});
