import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connect, createTensor } from "../../src/client/node.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface Started {
  readonly url: string;
  readonly asked: readonly string[];
  readonly bodies: readonly string[];
}

/** A server of another project: answers by the path's end, and the paths that were asked for. */
async function start(answers: Readonly<Record<string, Answer>>): Promise<Started> {
  const asked: string[] = [];
  const bodies: string[] = [];
  const server: Server = createServer(async (request, response) => {
    asked.push(request.url ?? "");
    let body = "";
    for await (const part of request) body += part;
    bodies.push(body);
    const name = Object.keys(answers).find((end) => request.url?.endsWith(end));
    if (name !== undefined) answers[name]?.(request, response);
    else response.writeHead(404).end('{"detail":"Not Found"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, bodies };
}

const json =
  (value: unknown): Answer =>
  (_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
const PAGE: Answer = (_, response) => void response.end("<html>");
const SERVER = { "/v2": json({ name: "other", extensions: [] }) };
const METADATA = json({ name: "m", inputs: [{ name: "x", datatype: "INT64", shape: [-1] }] });
const X = createTensor("float32", [1], new Float32Array([1]));

/** Fails so often, then answers without outputs. */
function failing(times: number, status: number, headers: Record<string, string> = {}): Answer {
  let left = times;
  return (request, response) => {
    if (left-- > 0) response.writeHead(status, headers).end('{"error":"not now"}');
    else json({ model_name: "m", outputs: [] })(request, response);
  };
}

test("a server without the binary extension gets and gives JSON, with exact integers", async () => {
  const infer: Answer = (_, response) =>
    response.end(
      '{"model_name":"m","outputs":[{"name":"y","datatype":"INT64","shape":[2],"data":[9007199254740993,1]}]}',
    );
  const { url, bodies } = await start({ ...SERVER, "/infer": infer, "/models/m": METADATA });
  const { m } = connect(`${url}/`);
  const { y } = await m!.predict({ x: [9007199254740993n, 1] });
  expect(y).toEqual(createTensor("int64", [2], new BigInt64Array([9007199254740993n, 1n])));
  expect(bodies.at(-1)).toContain('"datatype":"INT64","shape":[2],"data":[9007199254740993,1]}]');
  await expect(m!.predict({ x: createTensor("float32", [1], new Float32Array([Number.NaN])) })).rejects.toThrow("NaN");
});

test("texts of a server without the binary extension stay as they are, also those that are JSON", async () => {
  const texts = ['{"ids": [1, 12345678901234567890, NaN]}', 'a "b", NaN, \\\\', "-Infinity"];
  const outputs = [
    { name: "t", datatype: "BYTES", shape: [3], data: texts },
    { name: "y", datatype: "INT64", shape: [1], data: ["BIG"] },
  ];
  const answer = JSON.stringify({ model_name: "m", outputs }).replace('"BIG"', "9007199254740993");
  const { url } = await start({ ...SERVER, "/infer": (_, response) => response.end(answer), "/models/m": METADATA });
  const { t, y } = await connect(url).m!.predict({ x: X });
  expect(t).toEqual(
    createTensor(
      "bytes",
      [3],
      texts.map((text) => new TextEncoder().encode(text)),
    ),
  );
  expect(y?.data).toEqual(new BigInt64Array([9007199254740993n]));
});

test("a 503 is tried again where it says Retry-After, and only then", async () => {
  const { url, asked } = await start({ ...SERVER, "/infer": failing(2, 503, { "retry-after": "0" }) });
  expect({ ...(await connect(url).m!.predict({ x: X })) }).toEqual({});
  expect(asked.filter((path) => path.endsWith("/infer")).length).toBe(3);
  const other = await start({ ...SERVER, "/infer": failing(9, 503) });
  await expect(connect(other.url).m!.predict({ x: X })).rejects.toMatchObject({ code: "unavailable", status: 503 });
  expect(other.asked.filter((path) => path.endsWith("/infer")).length).toBe(1);
});

test("retries end with the attempts of a call, with the budget of a connection, or where its time would be up", async () => {
  const { url, asked } = await start({ ...SERVER, "/infer": failing(1000, 503, { "retry-after": "0" }) });
  const count = async (models: ReturnType<typeof connect>) => {
    const before = asked.length;
    await expect(models.m!.predict({ x: X })).rejects.toMatchObject({ serverText: "not now" });
    return asked.slice(before).filter((path) => path.endsWith("/infer")).length;
  };
  const models = connect(url, { retries: { budget: 10 } });
  expect([await count(models), await count(models), await count(models)]).toEqual([4, 1, 1]);
  expect(await count(connect(url, { retries: false }))).toBe(1);
  const slow = await start({ ...SERVER, "/infer": failing(9, 503, { "retry-after": "60" }) });
  const late = connect(slow.url).m!.predict({ x: X }, { timeoutMs: 10_000 });
  await expect(late).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 60_000 });
});

test.each(["86400", "99999999"])("a Retry-After of %s s is not waited for", async (seconds) => {
  const { url, asked } = await start({ "/models/m": failing(9, 503, { "retry-after": seconds }) });
  const error = { code: "unavailable", serverText: "not now", retryAfterMs: Number(seconds) * 1000 };
  await expect(connect(url).m!.metadata()).rejects.toMatchObject(error);
  expect(asked.length).toBe(1);
});

test.each([
  ["null", /is not KServe V2's: it is null, and not an object\. See whether/],
  ['{"inputs":5}', /its "inputs" are 5; expected a list of tensors/],
  ['{"inputs":[null]}', /its "inputs" are \[null\]/],
  ['{"outputs":[{"name":"y","datatype":"FP32","shape":"x"}]}', /its "outputs" are \[\{"name"/],
])("%s as metadata is an error that says so", async (body, text) => {
  const page: Answer = (_, response) => void response.end(body);
  const { url } = await start({ ...SERVER, "/models/m": page, "/infer": json({ outputs: [] }) });
  const { m } = connect(url);
  const error = { code: "internal", isSafeToRetry: false, message: expect.stringMatching(text) };
  await expect(m!.predict({ x: [1] })).rejects.toMatchObject(error);
  await expect(m!.metadata()).rejects.toMatchObject(error);
});

test("metadata whose inputs are null says nothing of them, and sizes may be texts", async () => {
  const outputs = [{ name: "y", datatype: "FP32", shape: ["-1", 2] }];
  const { url } = await start({ "/models/m": json({ name: "m", inputs: null, outputs }) });
  const expected = { name: "m", outputs: [{ name: "y", datatype: "FP32", shape: [-1, 2] }] };
  expect(await connect(url).m!.metadata()).toEqual(expected);
});

test("lists and extensions of another form are errors that say so", async () => {
  const index = await start({ "/v2/repository/index": json({ models: [] }) });
  await expect(connect(index.url).$list()).rejects.toThrow("expected a list of models with names");
  const list = await start({ "/v2/models": json({ models: [1] }) });
  await expect(connect(list.url).$list()).rejects.toThrow('its "models" are [1]');
  const server = await start({ "/v2": json(null), "/infer": json({ outputs: [] }) });
  await expect(connect(server.url).m!.predict({ x: X })).rejects.toThrow("it is null, and not an object");
});

test("an answer that breaks off is not asked for again", async () => {
  const cut: Answer = (_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("{");
    setImmediate(() => response.destroy());
  };
  const { url, asked } = await start({ ...SERVER, "/infer": cut });
  await expect(connect(url).m!.predict({ x: X })).rejects.toMatchObject({ code: "unavailable" });
  expect(asked.filter((path) => path.endsWith("/infer")).length).toBe(1);
});

test.each([
  ["a page", PAGE, "is not KServe V2's"],
  [
    "a short binary part",
    json({ outputs: [{ name: "y", datatype: "FP32", shape: [9], parameters: { binary_data_size: 36 } }] }),
    "Expected 36, got 0",
  ],
  ["an unknown datatype", json({ outputs: [{ name: "y", datatype: "FP8", shape: [1], data: [1] }] }), "FP8"],
] as const)("%s as an answer is an error that says so", async (_, infer, text) => {
  const { url } = await start({ ...SERVER, "/infer": infer });
  await expect(connect(url).m!.predict({ x: X })).rejects.toThrow(text);
});

/** Answers with events, in pieces. */
const events =
  (...pieces: readonly string[]): Answer =>
  async (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces)
      await new Promise<void>((resolve) => response.write(piece, () => setImmediate(resolve)));
    response.end();
  };
const part = (value: number) => `{"outputs":[{"name":"y","datatype":"INT32","shape":[1],"data":[${value}]}]}`;

/** Values of the parts of an answer, and the message of the error that it ends with. */
async function partsOf(answer: Answer) {
  const { url, asked } = await start({ ...SERVER, "/infer_stream": answer });
  const values: unknown[] = [];
  try {
    for await (const { y } of connect(url).m!.stream({ x: X })) values.push(y?.data[0]);
    return { values, asked };
  } catch (error) {
    return { values, asked, message: (error as Error).message };
  }
}

test.each([
  ["in one piece", [`data: ${part(1)}\n\ndata: ${part(2)}\n\n`]],
  ["in pieces of any size", [`da`, `ta: ${part(1).slice(0, 9)}`, part(1).slice(9), "\n", `\ndata:${part(2)}\n\n`]],
  ["with the line ends of Windows", [`data: ${part(1)}\r\n\r`, `\ndata: ${part(2)}\r\n\r\n`]],
  [
    "among comments, ids and names",
    [`: ping\n\nid: 7\nevent: part\ndata: ${part(1)}\n\n: ping\n\ndata: ${part(2)}\n\n`],
  ],
  ["of several lines", [`data: ${part(1).slice(0, 11)}\ndata: ${part(1).slice(11)}\n\ndata: ${part(2)}\n\n`]],
  ["whose last one has no empty line after it", [`data: ${part(1)}\n\ndata: ${part(2)}`]],
] as const)("events %s are parts", async (_, pieces) => {
  expect(await partsOf(events(...pieces))).toMatchObject({ values: [1, 2] });
});

test.each<[string, Answer, number[], RegExp]>([
  ["an answer that is no stream", json({ outputs: [] }), [], /it is application\/json, and not a stream of events/],
  ["an event that is no answer", events(`data: ${part(1)}\n\n`, "data: [DONE]\n\n"), [1], /is not KServe V2's/],
  ["half an event", events(`data: ${part(1)}\n\n`, `data: ${part(2).slice(0, 20)}`), [1], /is not KServe V2's/],
  ["an error among events", events(`data: ${part(1)}\n\ndata: {"error":"no"}\n\n`), [1], /answered in the stream: no/],
  ["no such route", (_, response) => void response.writeHead(404).end(), [], /answered 404: Not Found/],
])("%s is an error after the parts before it, and is not asked for again", async (_, answer, given, message) => {
  const { values, asked, message: said } = await partsOf(answer);
  expect([values, said]).toEqual([given, expect.stringMatching(message)]);
  expect(asked.filter((path) => path.endsWith("/infer_stream"))).toHaveLength(1);
});

test("models are listed by a server that has a list instead of an index", async () => {
  const { url } = await start({ "/v2/models": json({ models: ["a", "b"] }) });
  expect(await connect(url).$list()).toEqual(["a", "b"]);
});

test("a connection can be awaited, and any name is a model", async () => {
  const models = await Promise.resolve(connect("http://localhost:1"));
  expect(models.$model("then")).toBe(models.$model("then"));
  expect(models.constructor).toBe(models.$model("constructor"));
});

test.each([
  [400, false],
  [403, false],
  [404, false],
  [401, "unauthenticated"],
  [500, "unknown"],
])(
  "a configuration that is refused with %i is %s as to whether the model answers in parts",
  async (status, expected) => {
    const { url } = await start({ ...SERVER, "/config": (_, response) => response.writeHead(status).end() });
    const { m } = connect(url, { retries: false });
    expect(await m!.decoupled().catch(({ code }) => code)).toBe(expected);
  },
);
