import { request } from "node:http";
import { gzipSync } from "node:zlib";
import sharp from "sharp";
import { call, callOn, METHODS, openSession } from "../attack/grpc-attack.ts";
import { codeOf, firstStatus, type HttpMessage, headOf, openSocket } from "../attack/http-attack.ts";
import { bytesField, varintField } from "../attack/protobuf.ts";
import { driverKinds } from "./driver-kinds.ts";
import { http2Kinds } from "./http2-kinds.ts";
import {
  cancel,
  grpc,
  http,
  inferMessage,
  JSON_TYPE,
  json,
  type LeakKind,
  type LeakServer,
  leave,
  MOST_LARGE,
  texts,
} from "./leak-kind.ts";
import { sharedMemoryKinds } from "./shared-memory-kinds.ts";
import { textKinds } from "./text-kinds.ts";

const V1 = "/v1/models/default:predict";
const V2 = "/v2/models/default/infer";
const HOOKED = "/v2/models/hooked/infer";
const TEXT = { "content-type": "text/plain" };
const NUMBERS = Buffer.from('{"instances":[[1,2.5],[3,4]]}');
const V2_NUMBERS = json({ inputs: [{ name: "x", shape: [2], datatype: "FP32", data: [1, 2] }] });
const FORM = [
  '--b\r\nContent-Disposition: form-data; name="byte_x"; filename="x.bin"\r\n\r\nbytes\r\n',
  '--b\r\nContent-Disposition: form-data; name="float_y"\r\n\r\n1.5\r\n--b--\r\n',
].join("");
const GZIP = { ...JSON_TYPE, "content-encoding": "gzip" };

/** Every kind of request, each with the answer or the error that it ends with. */
export async function createKinds(): Promise<readonly LeakKind[]> {
  const plain = await plainKinds();
  return [
    ...plain,
    ...textKinds(),
    ...jsonKinds(),
    ...sharedMemoryKinds(),
    ...driverKinds(await image()),
    ...inOtherForms(plain),
  ];
}

/** Kinds that are sent over TLS and to several listeners too: each way of a connection, and of a request over it. */
const ON_OTHER_WIRES =
  /^(connection-|http2-|http-(v1|too-large|left|half-sent|json-broken|metrics)$|hook-(ok|left)$|grpc-(infer|cancelled|too-large|deadline|broken)$|stream|watch-)/;

function inOtherForms(kinds: readonly LeakKind[]): LeakKind[] {
  const chosen = kinds.filter(({ name }) => ON_OTHER_WIRES.test(name));
  const encrypted = chosen.map((kind): LeakKind => ({ ...kind, name: `tls-${kind.name}`, form: "encrypted" }));
  const listening = chosen.map((kind): LeakKind => ({ ...kind, name: `listeners-${kind.name}`, form: "listeners" }));
  return [...encrypted, ...listening];
}

function image(): Promise<Buffer> {
  return sharp({ create: { width: 32, height: 32, channels: 3, background: "#808080" } })
    .png()
    .toBuffer();
}

async function plainKinds(): Promise<LeakKind[]> {
  return [
    ...httpKinds(),
    ...hookKinds(await image()),
    ...grpcKinds(),
    ...streamKinds(),
    ...connectionKinds(),
    ...http2Kinds(),
    {
      ...http("isolated-death", "503", { path: "/v1/models/mortal:predict", body: json({ inputs: [9] }) }),
      maxCount: 24,
    },
  ];
}

function httpKinds(): LeakKind[] {
  const get = (name: string, path: string) => http(name, "200", { path, method: "GET", body: Buffer.alloc(0) });
  return [
    http("http-v1", "200", { path: V1, body: NUMBERS }),
    http("http-v1-columns", "200", { path: V1, body: json({ inputs: { x: [[1, 2]], s: ["é"] } }) }),
    http("http-v2", "200", { path: V2, body: V2_NUMBERS }),
    http("http-v2-binary", "200", binary()),
    http("http-kibernetika", "200", {
      path: "/predict/default",
      body: json({ inputs: { x: { dtype: 1, data: [[1, 2]] } } }),
    }),
    http("http-form", "200", {
      path: "/predict/default",
      body: Buffer.from(FORM),
      headers: { "content-type": "multipart/form-data; boundary=b" },
    }),
    http("http-invocations", "200", { path: "/invocations", body: NUMBERS }),
    http("http-csv", "200", {
      path: "/invocations",
      body: Buffer.from("1,2\n3,4\n"),
      headers: { "content-type": "text/csv" },
    }),
    http("http-gzip", "200", { path: V1, body: gzipSync(NUMBERS), headers: GZIP }),
    http("http-gzip-broken", "400", { path: V1, body: gzipSync(NUMBERS).subarray(0, 20), headers: GZIP }),
    http("http-encoding-unknown", "415", {
      path: V1,
      body: NUMBERS,
      headers: { ...JSON_TYPE, "content-encoding": "lzma" },
    }),
    http("http-json-broken", "400", { path: V1, body: Buffer.from('{"instances":[[1,2.5') }),
    http("http-shape-wrong", "400", {
      path: V2,
      body: json({ inputs: [{ name: "x", shape: [3], datatype: "FP32", data: [1] }] }),
    }),
    http("http-model-unknown", "404", { path: `/v1/models/${"m".repeat(100)}:predict`, body: NUMBERS }),
    http("http-path-unknown", "404", { path: "/nothing", body: NUMBERS, headers: TEXT }),
    { ...http("http-too-large", "413", { path: V1, body: Buffer.alloc(2_000_000, 32) }), maxCount: MOST_LARGE },
    http("http-page-foreign", "403", {
      path: V1,
      body: NUMBERS,
      headers: { ...JSON_TYPE, origin: "https://example.com" },
    }),
    http("http-control", "403", { path: "/v2/repository/models/default/unload", body: json({}) }),
    get("http-metadata", "/v2/models/default"),
    get("http-metrics", "/metrics"),
    get("http-health", "/v2/health/ready"),
    get("http-statistics", "/v2/models/stats"),
    { name: "http-left", expected: "left", form: "plain", send: (server) => leave(server, V1, NUMBERS) },
    {
      name: "http-half-sent",
      expected: "left",
      form: "plain",
      send: (server) => leave(server, V1, NUMBERS.subarray(0, 9)),
    },
  ];
}

/** Requests to hooks, by how those end. */
function hookKinds(image: Buffer): LeakKind[] {
  const word = (text: string) => ({ path: HOOKED, body: texts(Buffer.from(text).toString()) });
  const encoded = (bytes: Buffer) => json({ inputs: { x: [{ b64: bytes.toString("base64") }] } });
  const images = "/v1/models/hooked:predict";
  return [
    http("hook-ok", "200", word("ok")),
    http("hook-log", "200", word("log")),
    http("hook-throws", "500", word("throw")),
    http("hook-rejects", "500", word("reject")),
    http("hook-returns-nothing", "500", word("nothing")),
    { ...http("hook-timeout", "504", word("wait")), maxCount: 160 },
    { name: "hook-left", expected: "left", form: "plain", send: (server) => leave(server, HOOKED, word("wait").body) },
    http("hook-image", "200", { path: images, body: encoded(image) }),
    http("hook-image-broken", "400", { path: images, body: encoded(image.subarray(0, 60)) }),
  ];
}

/** Plain values to hooks and back: small answers, such as are written in turns, such as no client waits for. */
function jsonKinds(): LeakKind[] {
  const body = (x: string) => json({ x });
  const grpcLong = { path: METHODS.predictJson, message: bytesField(1, body("long")) };
  const path = "/serving-proxy";
  const left: LeakKind["send"] = (server) => leaveAnswer(server, { path, body: body("long") });
  return [
    http("json-small", "200", { path, body: body("small") }),
    grpc("json-grpc", 0, { ...grpcLong, message: bytesField(1, body("small")) }),
    http("json-promise", "500", { path, body: body("promise") }),
    { ...http("json-long", "200", { path, body: body("long") }), maxCount: MOST_LARGE },
    { ...grpc("json-grpc-long", 0, grpcLong), maxCount: MOST_LARGE },
    { name: "json-long-left", expected: "left", form: "single", maxCount: MOST_LARGE, send: left },
  ].map((kind): LeakKind => ({ ...kind, form: "single" }));
}

/** Goes away once the answer has begun. */
function leaveAnswer({ http: base, agent }: LeakServer, { path, body }: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const call = request(`${base}${path}`, { method: "POST", agent, headers: JSON_TYPE }, (answer) => {
      answer.on("error", () => {}).once("close", () => resolve("left"));
      answer.destroy();
    });
    call.on("error", (reason) => resolve(codeOf(reason)));
    call.end(body);
  });
}

function grpcKinds(): LeakKind[] {
  const v2 = inferMessage("default");
  const predict = Buffer.concat([
    bytesField(1, bytesField(1, "default")),
    bytesField(2, bytesField(1, "x"), bytesField(2, varintField(1, 1), Buffer.from([0x2d, 0, 0, 0x80, 0x3f]))),
  ]);
  const { predict: path, infer, predictJson } = METHODS;
  const packed = { headers: { "grpc-encoding": "gzip" }, isCompressed: true };
  const waiting = { path: infer, message: inferMessage("hooked", "wait") };
  return [
    grpc("grpc-predict", 0, { path, message: predict }),
    grpc("grpc-infer", 0, { path: infer, message: v2 }),
    grpc("grpc-predict-json-unnamed", 3, { path: predictJson, message: bytesField(1, '{"x":[1]}') }),
    grpc("grpc-gzip", 0, { path, message: gzipSync(predict), ...packed }),
    grpc("grpc-gzip-broken", 3, { path, message: gzipSync(predict).subarray(0, 20), ...packed }),
    grpc("grpc-encoding-unknown", 12, {
      path,
      message: predict,
      headers: { "grpc-encoding": "lzma" },
      isCompressed: true,
    }),
    grpc("grpc-broken", 3, { path, message: Buffer.from([0x0a, 0xff, 0xff]) }),
    grpc("grpc-model-unknown", 5, { path: infer, message: inferMessage("unknown") }),
    grpc("grpc-method-unknown", 12, { path: "/a.B/C", message: v2 }),
    {
      name: "grpc-too-large",
      expected: "refused",
      form: "plain",
      maxCount: MOST_LARGE,
      send: (server) => sendTooMuch(server, path),
    },
    grpc("grpc-hook-throws", 13, { path: infer, message: inferMessage("hooked", "throw") }),
    { ...grpc("grpc-deadline", 4, { ...waiting, headers: { "grpc-timeout": "20m" } }), maxCount: 1000 },
    grpc("grpc-health", 0, { path: "/grpc.health.v1.Health/Check", message: Buffer.alloc(0) }),
    grpc("grpc-metadata", 0, {
      path: "/inference.GRPCInferenceService/ModelMetadata",
      message: bytesField(1, "default"),
    }),
    { name: "grpc-cancelled", expected: "cancelled", form: "plain", send: ({ session }) => cancel(session, waiting) },
  ];
}

function streamKinds(): LeakKind[] {
  const parts = { path: METHODS.stream, message: inferMessage("parts", 3) };
  const many = { path: METHODS.stream, message: inferMessage("parts", 100_000) };
  return [
    grpc("stream", 0, { path: METHODS.stream, message: inferMessage("default"), times: 4 }),
    grpc("stream-errors", 0, { path: METHODS.stream, message: inferMessage("unknown"), times: 4 }),
    grpc("stream-parts", 0, parts),
    {
      name: "stream-parts-cancelled",
      expected: "cancelled",
      form: "plain",
      send: ({ session }) => cancel(session, many),
    },
    { name: "watch-cancelled", expected: "cancelled", form: "plain", send: ({ session }) => cancel(session, WATCH) },
  ];
}

const WATCH = { path: "/grpc.health.v1.Health/Watch", message: Buffer.alloc(0) };

/** Connections of one request each, and such that break. */
function connectionKinds(): LeakKind[] {
  const garbage = "\x16\x03garbage\r\n\r\n";
  return [
    {
      name: "connection-http",
      expected: "200",
      form: "plain",
      send: ({ http: to }) => firstStatus(to, `${headOf(V1, NUMBERS.length)}${NUMBERS}`),
    },
    { name: "connection-garbage", expected: "400", form: "plain", send: ({ http: to }) => firstStatus(to, garbage) },
    { name: "connection-grpc", expected: "grpc 0", form: "plain", send: askAlone },
    { name: "connection-left", expected: "left", form: "plain", send: ({ http: to }) => connectAndLeave(to) },
  ];
}

async function askAlone(server: LeakServer): Promise<string> {
  const session = await openSession(server);
  const status = await callOn(session, { path: METHODS.infer, message: inferMessage("default") });
  session.destroy();
  return status;
}

/** The status may come before the message has left, whose stream is closed then. */
async function sendTooMuch(server: LeakServer, path: string): Promise<string> {
  const status = await call(server, { path, message: Buffer.alloc(2_000_000) });
  return ["grpc 8", "ERR_HTTP2_STREAM_ERROR"].includes(status) ? "refused" : status;
}

function connectAndLeave(address: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = openSocket(address);
    socket.on("error", () => {}).once("connect", () => socket.destroy());
    socket.once("close", () => resolve("left"));
  });
}

function binary(): HttpMessage {
  const head = json({ inputs: [{ name: "x", shape: [2], datatype: "FP32", parameters: { binary_data_size: 8 } }] });
  const headers = { "inference-header-content-length": String(head.length) };
  return { path: V2, body: Buffer.concat([head, Buffer.alloc(8)]), headers };
}
