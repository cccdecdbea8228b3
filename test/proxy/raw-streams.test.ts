import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missingListeners } from "../helpers/missing-listeners.ts";
import { shareServer, startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { connectHttp2 } from "./http2-client.ts";
import { RawClient } from "./raw-client.ts";
import { PartReader } from "./read-parts.ts";

/** Hooks whose parts are made at the word of a test: `GET /go` lets one more be made, `GET /state` counts. */
const HOOKS = `
let permits = 0;
let wake = () => {};
const state = { made: 0, ended: 0 };
async function gate(signal) {
  while (permits === 0) await new Promise((resolve, reject) => {
    wake = resolve;
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  permits--;
}
async function* steps(ctx, parts) {
  try {
    for (const part of parts) {
      state.made++;
      yield part;
      await gate(ctx.signal);
    }
  } finally {
    state.ended++;
  }
}
async function* fail() {
  yield "one";
  throw new Error("no second part");
}
const get = (path, answer) => ({ path, methods: ["GET"], answer });
export const rawRequest = [
  get("/go", () => { permits++; wake(); return {}; }),
  get("/state", () => ({ body: state })),
  get("/events", (request, ctx) => {
    ctx.response.metadata["x-own"] = "yes";
    return steps(ctx, [{ id: "1", event: "step", data: { step: 1 } }, { comment: "two\\nlines", retry: 5 }, { data: "a\\r\\nb" }]);
  }),
  get("/bytes", async (_, ctx) => ({ status: 207, contentType: "audio/x-own", body: steps(ctx, [Buffer.from([0, 255]), "né"]) })),
  get("/sync", function* () { yield "a"; yield Promise.resolve("b"); yield Buffer.from("c"); }),
  get("/readable", async () => {
    const { Readable } = await import("node:stream");
    return { contentType: "text/csv", body: Readable.from([Buffer.from("a,"), Buffer.from("b")]) };
  }),
  get("/none", async function* () {}),
  get("/list", () => ({ body: ["a", "b"] })),
  get("/fail-text", () => fail()),
  get("/fail-late", async function* (_, { signal }) { yield "one"; await gate(signal); throw new Error("late"); }),
  get("/dies", async function* (_, { signal }) { yield { data: 1 }; await gate(signal); process.exit(); }),
  get("/stuck", async function* () { yield { data: 1 }; await new Promise(() => {}); }),
  get("/fail-events", async function* () { yield { data: 1 }; throw new Error("no second part"); }),
  get("/fail-within", async function* () { yield { data: 1 }; yield "data: 2"; throw new Error("no end"); }),
  get("/kept", (request, ctx) => { ctx.response.metadata["Cache-Control"] = "max-age=9"; return fail(); }),
  get("/endless", async function* () {
    const part = new Uint8Array(64 * 1024);
    try { for (;;) { state.made++; yield part; } } finally { state.ended++; }
  }),
  get("/reused", async function* () {
    const part = new Uint8Array(4);
    for (let step = 0; step < 100; step++) { part.fill(step); yield part; }
  }),
  get("/wrong", async function* ({ query }) {
    const wrong = {
      number: 5,
      nothing: undefined,
      list: [1],
      other: { score: 1 },
      empty: {},
      id: { id: "a\\nb" },
      event: { event: 5 },
      retry: { retry: -1 },
      data: { data: { a: new Map() } },
    };
    yield wrong[query.get("what")];
  }),
  { path: "/typed", methods: ["GET"], answer: () => ({ contentType: "text/plain", body: (function* () { yield { data: 1 }; })() }) },
  { path: "/returned", methods: ["GET"], answer: () => ({ body: (function* () { yield "a"; return "b"; })() }) },
];
`;

interface Place {
  readonly workers: number;
  readonly listeners: number;
  readonly hookTimeoutMs?: number;
}

function toServed(more: Place) {
  const file = join(tempFolder(), "hooks.mjs");
  writeFileSync(file, HOOKS);
  return { stages: [{ driver: "null" }], hooks: file, ...more };
}

async function serve(more: Place) {
  const { httpUrl: url } = await startServer(toServed(more));
  const text = async (path: string) => (await fetch(url + path)).text();
  const state = async () => JSON.parse(await text("/state")) as { readonly made: number; readonly ended: number };
  return { url, text, state, go: () => text("/go") };
}

/** Sends GET and reads the answer as it comes. */
async function get(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<PartReader> {
  const sent = request(url, { method, headers, agent: false });
  sent.on("error", () => {});
  sent.end();
  onTestFinished(() => void sent.destroy());
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return new PartReader(answer, () => sent.destroy());
}

const PLACES: (readonly [string, Place])[] = [
  ["in the main thread", { workers: 0, listeners: 1 }],
  ["in a hook thread", { workers: 1, listeners: 1 }],
];
if (missingListeners() === undefined) PLACES.push(["behind several listeners", { workers: 1, listeners: 2 }]);

describe.each(PLACES)("a body in parts of a hook %s", (_, place) => {
  /** A server for tests that neither ask for the state nor wait at the gate. */
  const share = shareServer(() => toServed(place));

  it("is sent as events, each before the next one is made", async () => {
    const { url, state, go } = await serve(place);
    const reader = await get(`${url}/events`, { "accept-encoding": "gzip" });
    expect(reader.answer.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
      "x-own": "yes",
    });
    expect(reader.answer.headers["content-encoding"]).toBeUndefined();
    expect(await reader.next()).toBe('id: 1\nevent: step\ndata: {"step":1}');
    expect(await state()).toEqual({ made: 1, ended: 0 });
    await go();
    expect(await reader.next()).toBe(": two\n: lines\nretry: 5");
    await go();
    expect(await reader.next()).toBe("data: a\ndata: b");
    await go();
    expect(await reader.next()).toBeUndefined();
    expect(await state()).toEqual({ made: 3, ended: 1 });
  });

  it("is sent as bytes and texts, with the status and type that its hook chose", async () => {
    const { url, go } = await serve(place);
    await go();
    await go();
    const answer = await fetch(`${url}/bytes`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([207, "audio/x-own"]);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from([0, 255, ...Buffer.from("né")]));
  });

  it.each([
    ["a generator that awaits nothing", "/sync", "text/plain; charset=utf-8", "abc"],
    ["a stream of Node", "/readable", "text/csv", "a,b"],
    ["a generator that yields nothing", "/none", "application/octet-stream", ""],
  ])("may be %s", async (_, path, type, text) => {
    const { httpUrl: url } = await share();
    const answer = await fetch(url + path);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, type, text]);
  });

  it("is no list: that is JSON as ever", async () => {
    const { httpUrl: url } = await share();
    expect(await (await fetch(`${url}/list`)).text()).toBe('["a","b"]');
  });

  it("keeps what was yielded, even if its hook writes into the same bytes again", async () => {
    const { httpUrl: url } = await share();
    const bytes = Buffer.from(await (await fetch(`${url}/reused`)).arrayBuffer());
    expect([...bytes]).toEqual(Array.from({ length: 400 }, (_, at) => Math.floor(at / 4)));
  });

  it("is left by return() when its client leaves", async () => {
    const { url, state } = await serve(place);
    const reader = await get(`${url}/events`);
    await reader.next();
    reader.leave();
    await expect.poll(state).toEqual({ made: 1, ended: 1 });
  });

  it("has no more parts made for a client that does not read than fit on the way", async () => {
    const { url, state } = await serve(place);
    const reader = await get(`${url}/endless`);
    const settled = async () => {
      const before = (await state()).made;
      for (let turn = 0; turn < 50; turn++) await state();
      return (await state()).made === before;
    };
    await expect.poll(settled).toBe(true);
    expect((await state()).made).toBeLessThan(1000);
    reader.leave();
    await expect.poll(async () => (await state()).ended).toBe(1);
  });

  it("is not made for HEAD beyond its first part", async () => {
    const { url, state } = await serve(place);
    const { answer } = await get(`${url}/endless`, {}, "HEAD");
    expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, "application/octet-stream"]);
    await expect.poll(async () => (await state()).ended).toBe(1);
  });

  it("ends with the connection for a client of HTTP/1.0", async () => {
    const { httpUrl: url } = await share();
    const client = new RawClient(Number(new URL(url).port));
    client.write("GET /sync HTTP/1.0\r\n\r\n");
    const text = await client.closed();
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(text.split("\r\n\r\n")[1]).toBe("abc");
  });

  it("that fails is an error after its events", async () => {
    const { httpUrl: url } = await share();
    const reader = await get(`${url}/fail-events`);
    expect(await reader.rest()).toEqual([
      "data: 1",
      expect.stringMatching(/^data: \{"error":"The hook rawRequest\[\d+\] failed: no second part"\}$/),
    ]);
    const within = await get(`${url}/fail-within`);
    expect(await within.rest()).toEqual(["data: 1", "data: 2", expect.stringContaining("no end")]);
  });

  it("that fails is cut short if it has no form for errors", async () => {
    const { httpUrl: url } = await share();
    const { answer } = await get(`${url}/fail-text`);
    let text = "";
    answer.on("data", (piece: string) => {
      text += piece;
    });
    await expect(once(answer, "end")).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(text).toBe("one");
  });

  it.each([
    ["number", "yielded a number as part 1; expected bytes, a text, or an event"],
    ["nothing", "yielded undefined as part 1"],
    ["list", "yielded an array as part 1"],
    ["other", "yielded an event with the member score as part 1; expected id, event, retry, data, comment"],
    ["empty", "yielded an empty event as part 1"],
    ["id", "yielded an event with id of several lines as part 1; expected a text of one line"],
    ["event", "yielded an event with event that is a number as part 1"],
    ["retry", "yielded an event with retry -1 as part 1; expected whole milliseconds"],
    ["data", "yielded as part 1 cannot be sent: a is a Map"],
  ])("whose first part is no part (%s) is an internal error", async (what, message) => {
    const { httpUrl: url } = await share();
    const answer = await fetch(`${url}/wrong?what=${what}`);
    expect([answer.status, await answer.json()]).toEqual([500, { error: expect.stringContaining(message) }]);
  });

  it("has no events in a body of another type, and nothing to return", async () => {
    const { httpUrl: url } = await share();
    expect(await (await fetch(`${url}/typed`)).text()).toContain(
      "yielded an object as part 1; expected bytes or a text",
    );
    const { answer } = await get(`${url}/returned`);
    await expect(once(answer.resume(), "end")).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});

it.each(PLACES)("a body in parts %s that is cut short is a reset for a client of HTTP/1.0", async (_, place) => {
  const { url, go } = await serve(place);
  const client = new RawClient(Number(new URL(url).port));
  client.write("GET /fail-late HTTP/1.0\r\n\r\n");
  await client.received(/one$/);
  const failed = once(client.socket, "error");
  await go();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
});

it("a body in parts whose hook thread ends, or that waits for ever, ends with that error", async () => {
  const { url, text, go } = await serve({ workers: 1, listeners: 1, hookTimeoutMs: 500 });
  const stuck = await (await get(`${url}/stuck`)).rest();
  expect(stuck).toEqual(["data: 1", expect.stringContaining("has not given part 2 within 500 ms")]);
  const dead = await get(`${url}/dies`);
  expect(await dead.next()).toBe("data: 1");
  await go().catch(() => {});
  expect(await dead.rest()).toEqual([expect.stringMatching(/^data: \{"error":/)]);
  await expect.poll(() => text("/list")).toBe('["a","b"]');
});

it("a body in parts comes over HTTP/2 as over HTTP/1.1, and its failure resets its stream alone", async () => {
  const { url, go } = await serve({ workers: 1, listeners: 1 });
  const session = connectHttp2(url);
  const stream = session.request({ ":path": "/events" });
  stream.setEncoding("utf8");
  expect((await once(stream, "data"))[0]).toBe('id: 1\nevent: step\ndata: {"step":1}\n\n');
  const failed = session.request({ ":path": "/fail-text" });
  await expect(once(failed.resume(), "end")).rejects.toThrow();
  await go();
  expect((await once(stream, "data"))[0]).toBe(": two\n: lines\nretry: 5\n\n");
});

it("a hook of a body in parts decides by Cache-Control who keeps it", async () => {
  const { url } = await serve({ workers: 0, listeners: 1 });
  const { answer } = await get(`${url}/kept`);
  expect([answer.headers["cache-control"], answer.headers["x-accel-buffering"]]).toEqual(["max-age=9", "no"]);
});
