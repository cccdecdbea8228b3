import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { invalidArgument, ServingError } from "../../src/errors.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { answerInParts, type PartedRequest } from "../../src/proxy/answer-parts.ts";
import type { HttpExchange } from "../../src/proxy/http-exchange.ts";
import type { HttpAnswer } from "../../src/proxy/http-route.ts";
import { EVENTS as EVENT_FORM, LINES as LINE_FORM } from "../../src/proxy/part-form.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { connectHttp2 } from "./http2-client.ts";
import { PartsService } from "./parts-service.ts";
import { RawClient } from "./raw-client.ts";
import { postForParts } from "./read-parts.ts";
import { serveHttp } from "./serve-http.ts";

const EVENTS = { form: EVENT_FORM };
const LINES = { form: LINE_FORM };
const PATH = "/v2/models/default/generate_stream";
const number = (value: number): Tensors => ({ y: createTensor("int32", [1], Int32Array.of(value)) });
const event = (value: number) => `data: {"model_name":"default","model_version":"1","y":${value}}`;

async function* count(to: number): AsyncGenerator<Tensors> {
  for (let value = 0; value < to; value++) yield number(value);
}

describe("an answer in parts", () => {
  it("is sent part by part, each before the next one is made", async () => {
    const read = [createDeferred<void>(), createDeferred<void>()];
    const { url } = await serveHttp(
      new PartsService(async function* () {
        for (const [value, { promise }] of read.entries()) {
          yield number(value);
          await promise;
        }
      }),
    );
    const reader = await postForParts(url + PATH, {});
    expect(reader.answer.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
    });
    for (const [value, { resolve }] of read.entries()) {
      expect(await reader.next()).toBe(event(value));
      resolve();
    }
    expect(await reader.next()).toBeUndefined();
  });

  it("is one line a part for a client that asks for lines", async () => {
    const { url } = await serveHttp(new PartsService(() => count(2)));
    const reader = await postForParts(url + PATH, {}, { accept: "application/x-ndjson" });
    expect(reader.answer.headers["content-type"]).toBe("application/x-ndjson");
    expect((await reader.rest("\n")).map((line) => JSON.parse(line).y)).toEqual([0, 1]);
  });

  it("is never compressed, and not cut by a client's limit on what it accepts", async () => {
    const { url } = await serveHttp(new PartsService(() => count(2)));
    const reader = await postForParts(url + PATH, {}, { "accept-encoding": "gzip" });
    expect(reader.answer.headers["content-encoding"]).toBeUndefined();
    expect(await reader.rest()).toEqual([event(0), event(1)]);
  });

  it("without parts is an empty one", async () => {
    const service = new PartsService(() => count(0));
    const { url } = await serveHttp(service);
    const reader = await postForParts(url + PATH, {});
    expect(reader.answer.statusCode).toBe(200);
    expect(await reader.rest()).toEqual([]);
    expect(service.leases).toBe(0);
  });

  it("ends with the connection for a client of HTTP/1.0", async () => {
    const { port } = await serveHttp(new PartsService(() => count(2)));
    const client = new RawClient(port);
    client.write(`POST ${PATH} HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}`);
    const text = await client.closed();
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(text.split("\r\n\r\n")[1]).toBe(`${event(0)}\n\n${event(1)}\n\n`);
  });

  it("comes over HTTP/2 as over HTTP/1.1", async () => {
    const isRead = createDeferred<void>();
    const { url } = await serveHttp(
      new PartsService(async function* () {
        yield number(0);
        await isRead.promise;
        yield number(1);
      }),
    );
    const stream = connectHttp2(url).request({ ":path": PATH, ":method": "POST" });
    stream.setEncoding("utf8");
    stream.end("{}");
    const [headers] = await once(stream, "response");
    expect(headers).toMatchObject({ ":status": 200, "content-type": "text/event-stream; charset=utf-8" });
    expect((await once(stream, "data"))[0]).toBe(`${event(0)}\n\n`);
    isRead.resolve();
    expect((await once(stream, "data"))[0]).toBe(`${event(1)}\n\n`);
    await once(stream, "end");
  });

  it("has the headers that hooks set before its first part", async () => {
    const service = new PartsService(() => count(1));
    service.metadata = { "x-hook": "yes" };
    const { url } = await serveHttp(service);
    expect((await postForParts(url + PATH, {})).answer.headers["x-hook"]).toBe("yes");
  });
});

describe("a failing answer in parts", () => {
  it("is an error as any other before its first part", async () => {
    const { url } = await serveHttp(
      // biome-ignore lint/correctness/useYield: it fails before.
      new PartsService(async function* () {
        throw invalidArgument("wrong");
      }),
    );
    const answer = await fetch(url + PATH, { method: "POST", body: "{}" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "application/json"]);
    expect(await answer.json()).toEqual({ error: "wrong", code: "invalid_argument" });
  });

  it("ends with the error after its first part, and counts as failed", async () => {
    const service = new PartsService(async function* () {
      yield number(0);
      throw new ServingError("unavailable", "gone");
    });
    const over = createDeferred<unknown>();
    const { url } = await serveHttp(service, {
      metrics: { add: (_: unknown, status: unknown) => over.resolve(status) } as never,
    });
    const reader = await postForParts(url + PATH, {});
    expect(reader.answer.statusCode).toBe(200);
    expect(await reader.rest()).toEqual([event(0), 'data: {"error":"gone"}']);
    expect(await over.promise).toBe(503);
    expect(service.leases).toBe(0);
  });
});

it("an answer in parts that outlasts its server ends with an error", async () => {
  const server = await serveHttp(
    new PartsService(async function* () {
      yield number(0);
      await new Promise(() => {});
    }),
  );
  const reader = await postForParts(server.url + PATH, {});
  expect(await reader.next()).toBe(event(0));
  const closed = server.close(0);
  expect(await reader.rest()).toEqual(['data: {"error":"The server ends."}']);
  await closed;
});

describe("an answer in parts whose client", () => {
  it("leaves after the first one has its generator ended, and its model released", async () => {
    const isOver = createDeferred<void>();
    const service = new PartsService(async function* () {
      try {
        for (let value = 0; ; value++) {
          yield number(value);
          await new Promise(setImmediate);
        }
      } finally {
        isOver.resolve();
      }
    });
    const { url } = await serveHttp(service);
    const reader = await postForParts(url + PATH, {});
    expect(await reader.next()).toBe(event(0));
    reader.leave();
    await isOver.promise;
    await vi.waitFor(() => expect(service.leases).toBe(0));
  });

  it("leaves while the next one is made has its signal aborted", async () => {
    const isAborted = createDeferred<void>();
    const { url } = await serveHttp(
      new PartsService(async function* (_, { signal }) {
        yield number(0);
        signal.addEventListener("abort", () => isAborted.resolve());
        await new Promise(() => {});
      }),
    );
    const reader = await postForParts(url + PATH, {});
    expect(await reader.next()).toBe(event(0));
    reader.leave();
    await isAborted.promise;
  });

  it("does not read gets no more made than fits on the way", async () => {
    let made = 0;
    const text = createTensor("bytes", [1], [Buffer.alloc(64 * 1024, "a")]);
    const { url } = await serveHttp(
      new PartsService(async function* () {
        for (;;) {
          made++;
          yield { text };
        }
      }),
    );
    const reader = await postForParts(url + PATH, {});
    for (let turn = 0; turn < 100; turn++) await (await fetch(`${url}/v2/health/live`)).text();
    const before = made;
    expect(before).toBeLessThan(1000);
    for (let turn = 0; turn < 100; turn++) await (await fetch(`${url}/v2/health/live`)).text();
    expect(made).toBe(before);
    expect(reader.answer.statusCode).toBe(200);
  });
});

/** An exchange that counts bytes. */
function fakeExchange(): HttpExchange & { held: number } {
  const exchange = {
    held: 0,
    answersInParts: () => {},
    beyondPart: (bytes: number) => bytes,
    hold: (bytes: number) => {
      exchange.held += bytes;
    },
  };
  return exchange as never;
}

type Part = HttpAnswer & { readonly parts?: number };
type WritePart = (part: Part) => Promise<void>;

const json = (text: string): Part => ({ contentType: "application/json", body: Buffer.from(text) });

/** A request whose parts are answers. */
function parted(run: (write: WritePart) => Promise<void>): PartedRequest<Part> {
  return {
    run: async (write) => {
      await run(write);
      return { ...json(""), parts: 1 };
    },
    toPart: async (part) => part,
  };
}

/** All bytes of an answer, piece by piece. */
async function readPieces({ stream }: HttpAnswer, pieces: string[] = []): Promise<readonly string[]> {
  for await (const piece of stream?.parts ?? []) pieces.push(String(piece));
  return pieces;
}

describe("parts on their way", () => {
  it("are asked for one at a time, and their bytes are counted", async () => {
    const exchange = fakeExchange();
    const written: number[] = [];
    const { stream } = await answerInParts(
      EVENTS,
      exchange,
      parted(async (write) => {
        for (let value = 0; value < 3; value++) {
          await write(json(`[${value}]`));
          written.push(value);
        }
      }),
    );
    const parts = (stream as NonNullable<typeof stream>).parts[Symbol.asyncIterator]();
    expect(String((await parts.next()).value)).toBe("data: [0]\n\n");
    expect([written, exchange.held]).toEqual([[], 3]);
    expect(String((await parts.next()).value)).toBe("data: [1]\n\n");
    expect(written).toEqual([0]);
    await parts.return?.();
  });

  it("are refused once none is read", async () => {
    let write: WritePart = async () => {};
    const refused = createDeferred<unknown>();
    const { stream } = await answerInParts(
      EVENTS,
      fakeExchange(),
      parted(async (writePart) => {
        write = writePart;
        await writePart(json("1")).catch(refused.resolve);
      }),
    );
    const parts = (stream as NonNullable<typeof stream>).parts[Symbol.asyncIterator]();
    await parts.next();
    await parts.return?.();
    expect(await refused.promise).toMatchObject({ name: "AbortError" });
    await expect(write(json("2"))).rejects.toMatchObject({ name: "AbortError" });
  });

  it("have pings between them while nothing is made, but for lines", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const never = parted(() => new Promise<void>(() => {}));
      const begun = answerInParts(EVENTS, fakeExchange(), never);
      await vi.advanceTimersByTimeAsync(15_000);
      const parts = (await begun).stream?.parts[Symbol.asyncIterator]();
      for (let turn = 0; turn < 2; turn++) {
        const next = parts?.next();
        await vi.advanceTimersByTimeAsync(15_000);
        expect(String((await next)?.value)).toBe(": ping\n\n");
      }
      let isBegun = false;
      void answerInParts(LINES, fakeExchange(), never).then(() => {
        isBegun = true;
      });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(isBegun).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  it("of a hook's own body have pings between its events, and within none", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const go = createDeferred<void>();
      const event = (text: string): Part => ({ contentType: "text/event-stream", body: Buffer.from(text) });
      const run = parted(async (write) => {
        await write(event("data: 1\n\n"));
        await go.promise;
        await write(event("data: "));
        throw invalidArgument("wrong");
      });
      const request = { ...run, toAnswer: (answer: Part) => answer };
      const answer = await answerInParts({ orAnswer: true }, fakeExchange(), request);
      const parts = (answer.stream as NonNullable<typeof answer.stream>).parts[Symbol.asyncIterator]();
      const next = async () => String((await parts.next()).value);
      expect([answer.contentType, await next()]).toEqual(["text/event-stream", "data: 1\n\n"]);
      const ping = next();
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await ping).toBe(": ping\n\n");
      go.resolve();
      expect(await next()).toBe("data: ");
      expect(await next()).toBe("\n\n");
      await expect(parts.next()).rejects.toThrow("wrong");
    } finally {
      vi.useRealTimers();
    }
  });

  it("may be made while they are sent, and are counted with what they are made of", async () => {
    const exchange = fakeExchange();
    const stream = {
      heldBytes: 100,
      parts: (async function* () {
        yield* [Buffer.from("1,"), Buffer.from("2")];
      })(),
    };
    const run = parted((write) => write({ ...json("["), stream }));
    const answer = await answerInParts(LINES, exchange, run);
    expect((await readPieces(answer)).join("")).toBe("[1,2\n");
    expect(exchange.held).toBe(101);
  });

  it("end where they cannot be made any further, so that the error is a part of its own", async () => {
    const pieces = (async function* () {
      yield Buffer.from("1,");
      throw invalidArgument("no more");
    })();
    const stream = { heldBytes: 0, parts: pieces };
    const answer = await answerInParts(
      EVENTS,
      fakeExchange(),
      parted((write) => write({ ...json("["), stream })),
    );
    const read: string[] = [];
    await expect(readPieces(answer, read)).rejects.toThrow("no more");
    expect(read.join("")).toBe("data: [1,\n\n");
  });

  it("are not waited for with pings by a client to which one answer is as welcome", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const only = createDeferred<Part>();
      const request = {
        run: () => only.promise,
        toPart: async (part: Part) => part,
        toAnswer: (answer: Part) => answer,
      };
      const answered = answerInParts({ ...EVENTS, orAnswer: true }, fakeExchange(), request);
      await vi.advanceTimersByTimeAsync(60_000);
      only.resolve(json("{}"));
      expect(await answered).toBe(await only.promise);
    } finally {
      vi.useRealTimers();
    }
  });
});
