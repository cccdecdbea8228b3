import { credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { createServer } from "../../src/server/server.ts";
import type { Plain } from "../grpc/oracle.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";
import { postForParts } from "../proxy/read-parts.ts";

/** A client's view of an answer in parts: its numbers, and what it is told at the end. */
interface Reader {
  /** The number of the next part; a text for anything else, undefined at the end. */
  next(): Promise<unknown>;
}

type Open = (server: { readonly httpUrl: string; readonly grpcAddress: string }) => Promise<Reader>;

function overHttp(path: string, body: object, accept: string, mark: string): Open {
  return async ({ httpUrl }) => {
    const reader = await postForParts(`${httpUrl}${path}`, body, { accept });
    return {
      next: async () => {
        const part = await reader.next(mark);
        if (part === undefined) return undefined;
        const value = JSON.parse(part.replace("data: ", ""));
        return value.error ?? value.number ?? value.outputs;
      },
    };
  };
}

const overGrpc: Open = async ({ grpcAddress }) => {
  const client = new KserveClient(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const stream = client.ModelStreamInfer!(new Metadata());
  stream.end({
    model_name: "m",
    inputs: [{ name: "x", datatype: "INT32", shape: [1] }],
    raw_input_contents: [Buffer.from(Int32Array.of(1).buffer)],
  });
  const parts = stream[Symbol.asyncIterator]();
  return {
    next: async () => {
      const next = await parts
        .next()
        .catch(({ code, details }: ServiceError) => ({ value: `${status[code]}: ${details}` }));
      const { value } = next as { value: Plain | string | undefined };
      if (typeof value !== "object") return value;
      return ((value.infer_response as Plain).raw_output_contents as Buffer[])[0]?.readInt32LE();
    },
  };
};

const WIRES: readonly (readonly [string, Open, string])[] = [
  ["gRPC", overGrpc, "UNAVAILABLE: The server is shutting down."],
  ["events", overHttp("/v2/models/m/generate_stream", { x: 1 }, "text/event-stream", "\n\n"), "The server ends."],
  ["lines", overHttp("/v1/models/m:predict", { inputs: [1] }, "application/x-ndjson", "\n"), "The server ends."],
];

/** A server whose model gives a part, and another one once it may go on. */
async function start(drainTimeoutMs: number) {
  const gate = createDeferred<void>();
  let left = 0;
  const hooks: Hooks = {
    inputs: [{ name: "x", dtype: "int32", shape: [1] }],
    outputs: [{ name: "number", dtype: "int32", shape: [] }],
    async *process(_, ctx) {
      ctx.signal.addEventListener("abort", () => gate.resolve());
      try {
        yield { number: 1 };
        await gate.promise;
        yield { number: 2 };
      } finally {
        left++;
      }
    },
  };
  const server = await createServer({ http: {}, models: { m: { driver: "null", hooks } }, drainTimeoutMs });
  onTestFinished(() => server.close().catch(() => {}));
  return { server: server as typeof server & { readonly httpUrl: string }, gate, left: () => left };
}

describe.each(WIRES)("a server that ends lets an answer in parts over %s", (_, open, words) => {
  test("come to its end in the time that it has", async () => {
    const { server, gate, left } = await start(20_000);
    const reader = await open(server);
    expect(await reader.next()).toBe(1);
    const closed = server.close();
    gate.resolve();
    expect([await reader.next(), await reader.next()]).toEqual([2, undefined]);
    await closed;
    expect(left()).toBe(1);
  });

  test("know that it ends, where that time is over", async () => {
    const { server, left } = await start(100);
    const reader = await open(server);
    expect(await reader.next()).toBe(1);
    const closed = server.close();
    await expect(closed).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await reader.next()).toBe(words);
    await expect.poll(left).toBe(1);
    const ended = async () => (await server.service.statistics())[0]?.requests.parts?.ended;
    await expect.poll(ended).toEqual({ server: 0, client: 0, error: 1, deadline: 0 });
  });
});
