import { existsSync, readFileSync } from "node:fs";
import { createWebTokenCheck } from "../../../src/access/authentication/open-authentication.ts";
import { NamePatterns } from "../../../src/access/rules/access-rules.ts";
import { TrustedProxies } from "../../../src/access/trusted-proxies.ts";
import { EventReader, readPart } from "../../../src/client/http/read-answer.ts";
import { lastError } from "../../../src/client/remote/connection-problem.ts";
import { decodeInferResponse, decodeStreamResponse } from "../../../src/client/remote/infer-message.ts";
import { constantsOf } from "../../../src/drivers/openvino/ir-file.ts";
import { publicText, ServingError, toErrorCode } from "../../../src/errors.ts";
import { readCallHeaders } from "../../../src/grpc/call-headers.ts";
import { splitBinary } from "../../../src/grpc/metadata-headers.ts";
import { kindOfRequest } from "../../../src/hooks/host/request-queue.ts";
import { PartSealer } from "../../../src/hooks/raw-parts.ts";
import { HeaderField } from "../../../src/http2/header-field.ts";
import { readRequestHead, readTrailers } from "../../../src/http2/message-head.ts";
import { boundFields } from "../../../src/observability/bound-event.ts";
import { LogFilter } from "../../../src/observability/log-filter.ts";
import { createOutputLogger } from "../../../src/observability/logger.ts";
import { requestIdOf } from "../../../src/observability/request-id.ts";
import { parentOf } from "../../../src/observability/trace-context.ts";
import { readParts } from "../../../src/page/stream-parts.ts";
import { hashSmallRequest } from "../../../src/pipeline/input-key.ts";
import { payloadBytes } from "../../../src/pipeline/payload.ts";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { nearest } from "../../../src/platform/text/nearest.ts";
import { toWireError } from "../../../src/platform/threads/wire-error.ts";
import { withOwnIds } from "../../../src/protocols/endpoint-paths.ts";
import { decodeGenerate } from "../../../src/protocols/kserve/generate-request.ts";
import { readRequestId } from "../../../src/protocols/kserve/grpc-request.ts";
import { modelParameters, readScheduling } from "../../../src/protocols/kserve/parameters.ts";
import { readCustomAttributes } from "../../../src/protocols/sagemaker/custom-attributes.ts";
import { acceptedType } from "../../../src/protocols/sagemaker/invoke.ts";
import { splitForm } from "../../../src/protocols/split-form.ts";
import { readReloadConfig } from "../../../src/protocols/tensorflow-serving/grpc-service.ts";
import { acceptedParts, partForm } from "../../../src/proxy/part-form.ts";
import { parseVersion } from "../../../src/serving/parse-version.ts";
import { readConfigOverride } from "../../../src/serving/repository/client-overrides.ts";
import { parseJsonTree } from "../../../src/tensor/codecs/config/config-node.ts";
import { parseTextFormat } from "../../../src/tensor/codecs/config/parse-text-format.ts";
import { parseYaml } from "../../../src/tensor/codecs/config/yaml.ts";
import { eachJsonRow } from "../../../src/tensor/codecs/csv-to-json-rows.ts";
import { decodeBase64 } from "../../../src/tensor/codecs/json/decode-base64.ts";
import { parseJson } from "../../../src/tensor/codecs/json/json-reader.ts";
import { parseExactJson } from "../../../src/tensor/codecs/json/tensor-from-json.ts";
import { readNpy } from "../../../src/tensor/codecs/npy.ts";
import { encodeMessage, messageField, textElement } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { chooseSignature } from "../../../src/tensor/signature/choose-signature.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";
import { chatCosts } from "./chat-costs.ts";
import { between, filled, LARGE, numbered, type TextCost } from "./hostile-texts.ts";
import { tensorCosts } from "./tensor-costs.ts";

const KB = 1024;
/**
 * Characters of a gRPC message's name, of a head over HTTP, of metadata, of a client's configuration, of users' texts.
 */
const [NAME, HEAD, METADATA, CONFIG, TEXT] = [600 * KB, 16 * KB, 64 * KB, 256 * KB, 16 * KB * KB];
/** Characters of a request's names, and of one. */
const [NAMES, NAME_STEP] = [512 * KB, 4 * KB - 4];
/** The kernel's times of this thread: computing, and waiting for a core. */
const SCHEDULED = "/proc/thread-self/schedstat";

/** Runs that patterns divide in many ways. */
const RUNS = {
  letters: filled("a"),
  dashes: filled("-team-"),
  spaces: between("a", " ", "b"),
  tabs: filled(" \t", "!"),
  digits: filled("1", "x"),
  zeros: filled("0", "1"),
  commas: filled(","),
  semicolons: filled(";q=0.1"),
  slashes: between("a", "/", "b"),
  points: between("a", ".", "b"),
  quotes: filled('"'),
  backslashes: filled("\\"),
  brackets: filled("["),
  equals: filled("key="),
  urls: filled("a://b:c@d "),
  schemes: filled("a://", "x"),
  members: filled('"token":"a",'),
  open: filled('"token":"\\"'),
  errors: filled("Last error: (1234-"),
  paths: filled("/usr/a b/"),
} as const;
const JSON_TEXTS = {
  ...RUNS,
  list: between("[", "1,", "1]"),
  spaces: between("[", " ", "1]"),
  string: between('["', "a", '"]'),
  escapes: between('["', "\\\\", '"]'),
  open: between('["', '\\"'),
  names: numbered("{", (at) => `"max_batch_${at}":1,\n`, '"a":1}'),
  lists: between("[", "[],", "[]]"),
  number: between("[", "9", "]"),
} as const;
const quiet = createOutputLogger([{ write: () => {} }], new LogFilter("info"));
const proxies = new TrustedProxies(["0.0.0.0/0"]);
const patterns = new NamePatterns(["*-team-*-v*", "*a*a*a*a*b", "a*a*a"]);
const override = (text: string) => readConfigOverride(text, { name: "m", folder: "/m" });

/** Every way by which texts of clients, users' code, processes and other servers enter. */
export const TEXT_COSTS: readonly TextCost[] = [
  { name: "name against the rules", most: NAME, texts: RUNS, read: (text) => patterns.matches(text) },
  { name: "name that is not known", most: NAME, texts: RUNS, read: (text) => nearest(text, ["model", "other"]) },
  {
    name: "names of inputs",
    most: NAMES,
    texts: { letters: filled("a"), controls: filled("\x01"), wide: filled("é") },
    read: toNames,
  },
  { name: "version", most: NAME, texts: RUNS, read: parseVersion },
  { name: "request id", most: HEAD, texts: RUNS, read: (text) => requestIdOf({ "x-request-id": text }) },
  { name: "traceparent", most: HEAD, texts: RUNS, read: (text) => parentOf({ traceparent: text }) },
  { name: "tracestate", most: HEAD, texts: RUNS, read: toState },
  { name: "Accept", most: HEAD, texts: RUNS, read: (text) => acceptedType(text) },
  { name: "X-Forwarded-For", most: HEAD, texts: { ...RUNS, hops: filled("1.2.3.4,") }, read: toClient },
  { name: "binary metadata", most: METADATA, texts: RUNS, read: splitBinary },
  { name: "JSON of a load", most: CONFIG, texts: JSON_TEXTS, read: (text) => parseJsonTree(text, "config") },
  { name: "configuration of a load", most: CONFIG, texts: JSON_TEXTS, read: override },
  { name: "message of an error", most: TEXT, texts: RUNS, read: (text) => new ServingError("internal", text) },
  { name: "error for a client", most: TEXT, texts: RUNS, read: (text) => publicText(new Error(text)) },
  { name: "error between threads", most: TEXT, texts: RUNS, read: (text) => toWireError(withoutStack(text)) },
  { name: "line of the log", most: TEXT, texts: RUNS, read: (text) => quiet.info(text, { text, list: [text] }) },
  { name: "fields of an event", most: TEXT, texts: RUNS, read: (text) => boundFields({ a: { b: [text] } }) },
  { name: "JSON Web Token", most: HEAD, texts: { ...RUNS, ...tokenTexts() }, read: (text) => checkToken(text) },
  { name: "grpc-timeout", most: METADATA, texts: RUNS, read: (text) => toHead({ "grpc-timeout": text }) },
  { name: "headers of a call", most: METADATA, texts: RUNS, read: (text) => toHead({ cookie: text, "a-bin": text }) },
  { name: "multipart boundary", most: HEAD, texts: RUNS, read: (text) => toForm(text, "") },
  { name: "custom attributes", most: HEAD, texts: attributeTexts(), read: (text) => readCustomAttributes(text) },
  { name: "names of operations", most: CONFIG, texts: { alike: filled("-a") }, read: toOperations },
  { name: "config of a reload", ...LARGE, isInMainThread: false, texts: { names: filled("a") }, read: toReload },
  { name: "failure of a connection", most: METADATA, texts: RUNS, read: lastError },
  { name: "fields after a body", most: METADATA, texts: RUNS, read: toTrailers },
  {
    name: "Accept for parts",
    most: HEAD,
    texts: { ...RUNS, types: filled("text/event-stream;q=0.1,") },
    read: toForms,
  },
  { name: "id of a message", ...LARGE, texts: idTexts(), read: (_, bytes) => readRequestId(bytes) },
  { name: "small part of a server", most: METADATA, texts: RUNS, read: toPart },
  { name: "code of an error", most: METADATA, texts: RUNS, read: toErrorCode },
  { name: "parameters of a request", most: CONFIG, texts: { names: filled("a") }, read: toParameters },
  {
    name: "config.pbtxt",
    most: CONFIG,
    isInMainThread: false,
    texts: { ...RUNS, fields: filled("a: 1\n") },
    read: toText,
  },
  { name: "YAML", most: CONFIG, isInMainThread: false, texts: yamlTexts(), read: (text) => parseYaml(text, "file") },
  {
    name: "constants of an IR",
    ...LARGE,
    isInMainThread: false,
    texts: irTexts(),
    read: (text) => [...constantsOf(text)],
  },
  { name: "JSON of a request", ...LARGE, isInMainThread: false, texts: JSON_TEXTS, read: toJson },
  {
    name: "parts of a form",
    ...LARGE,
    isInMainThread: false,
    texts: partTexts(),
    read: (text) => toForm("b", text),
  },
  { name: "exact JSON", ...LARGE, isInMainThread: false, texts: exactTexts(), read: parseExactJson },
  { name: "keys of generate", ...LARGE, isInMainThread: false, texts: generateTexts(), read: toGenerate },
  { name: "part of a server", ...LARGE, isInMainThread: false, texts: RUNS, read: toPart },
  { name: "part of a server as JSON", ...LARGE, isInMainThread: false, texts: outputTexts(), read: readPart },
  { name: "event of a hook", ...LARGE, isInMainThread: false, texts: lineTexts(), read: toEvent },
  { name: "events of a server", ...LARGE, isInMainThread: false, texts: eventTexts(), read: readEvents },
  { name: "events for the page", ...LARGE, isInMainThread: false, texts: eventTexts(), read: readForPage },
  { name: "base64", ...LARGE, isInMainThread: false, texts: RUNS, read: decodeBase64 },
  {
    name: "CSV",
    ...LARGE,
    isInMainThread: false,
    texts: { ...RUNS, rows: filled('1,"a"\n') },
    read: (text: string) => [...eachJsonRow(text)],
  },
  ...chatCosts(),
  ...tensorCosts(),
  { name: "header of .npy", most: METADATA, isInMainThread: false, texts: RUNS, read: toArray },
];

/** The steps before a request runs, with names as its inputs and again as its outputs: half of what they may have. */
function toNames(text: string): unknown {
  const starts = Array.from({ length: text.length / NAME_STEP }, (_, at) => at * NAME_STEP);
  const names = starts.map((start) => text.slice(start, start + NAME_STEP));
  const value = createTensor("uint8", [1], Uint8Array.of(1));
  const tensors = createTensors(names.map((name, at) => [`${at}${name}`, value] as const));
  const used = { inputs: Object.keys(tensors), outputs: names };
  const signature = chooseSignature("", {}, used) ?? { name: "", spec: undefined };
  const call = { id: "", metadata: {}, signal: new AbortController().signal };
  const request = { signature, inputs: { kind: "tensors", tensors }, outputs: names, call } as const;
  return [kindOfRequest(request), payloadBytes(request.inputs), hashSmallRequest(request)];
}

/** With a key that has signed none of them. */
const checkToken = createWebTokenCheck({
  keys: { path: "", content: async () => new Uint8Array(32), refresh: async () => false },
  ...{ issuer: "a", audience: "b" },
});

function tokenTexts(): TextCost["texts"] {
  const base64 = (text: string) => Buffer.from(text).toString("base64url");
  const start = `${base64('{"alg":"HS256"}')}.`;
  return {
    signature: between(`${start}e30.`, "a"),
    claims: (length) => `${start}${base64(filled("[")((length - start.length) / 1.4))}.aa`,
    head: (length) => `${base64(between('{"alg":"HS256","a":', "[")(length / 1.4))}.e30.aa`,
    points: filled("a."),
  };
}

function toHead(byName: Readonly<Record<string, string>>): unknown {
  return readCallHeaders({ byName, raw: Object.entries(byName).flat() });
}

function toForm(boundary: string, body: string): Promise<unknown> {
  return splitForm(
    Buffer.from(body || `--${boundary}\r\n\r\n--${boundary}--`),
    `multipart/form-data; boundary=${boundary}`,
  );
}

function partTexts(): TextCost["texts"] {
  const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n';
  return {
    parts: filled(part, "--b--"),
    dashes: between(part, "\r\n--", "--b--"),
    names: between('--b\r\ncontent-disposition: form-data; name="', "a", '"\r\n\r\n1\r\n--b--'),
    parameters: between("--b\r\ncontent-disposition: form-data", "; a=b", "\r\n\r\n1\r\n--b--"),
    quotes: between('--b\r\ncontent-disposition: form-data; name="', '\\"', '"\r\n\r\n1\r\n--b--'),
    percents: between("--b\r\ncontent-disposition: form-data; name*=utf-8''", "%41", "\r\n\r\n1\r\n--b--"),
    headers: between("--b\r\n", "a: b\r\n", "\r\n1\r\n--b--"),
  };
}

function irTexts(): TextCost["texts"] {
  return {
    offsets: between("<data", '\toffset="0"e', "<"),
    types: between("<data", '\telement_type=\toffset="0"e', "<"),
    tags: filled(`<data${'\telement_type="a"\toffset="0"e'.repeat(200)}`),
    begins: filled("<data "),
  };
}

function attributeTexts(): TextCost["texts"] {
  return { ...RUNS, prefixes: filled("tfs-"), names: filled("tfs-a=b,"), letters: between("tfs-", "a", "=b") };
}

/** Models whose names differ by what an operation's id may not have. */
function toOperations(text: string): unknown {
  const paths = Array.from(
    { length: text.length / 32 },
    (_, at) => [`/${at}`, { post: { operationId: "a_b" } }] as const,
  );
  return withOwnIds(Object.fromEntries(paths));
}

function toReload(text: string): unknown {
  const config = Array.from({ length: text.length / 32 }, (_, at) => ({ name: `a${at}`, base_path: "/a" }));
  return readReloadConfig({ config: { model_config_list: { config } } });
}

function toState(text: string): unknown {
  return parentOf({ traceparent: `00-${"1".repeat(32)}-${"1".repeat(16)}-01`, tracestate: text });
}

function toClient(text: string): unknown {
  return proxies.clientAddress({ address: "1.2.3.4", headers: { "x-forwarded-for": text } });
}

/** V8 copies the message into the stack, at the cost of who throws it. */
function withoutStack(text: string): Error {
  return Object.assign(new Error("a"), { message: text, stack: text });
}

function toText(text: string): unknown {
  return parseTextFormat(text, "config.pbtxt");
}

function toJson(text: string): unknown {
  return parseJson(Buffer.from(text), new DecodeBudget(2 ** 28));
}

function toArray(text: string): unknown {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(Math.min(65_535, text.length));
  return readNpy(Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), length, Buffer.from(text)]));
}

function yamlTexts(): TextCost["texts"] {
  return {
    keys: numbered("", (at) => `k${at}: 1\n`, ""),
    aliases: between("a: &x 1\nb: [", "*x,", "]"),
    anchors: numbered("[", (at) => `&a${at} 1,`, "]"),
    comments: filled("# x\n", "a: 1"),
    spaces: between("a:", " ", "b"),
    digits: between("a: ", "1"),
    block: between("a: |\n", " b\n"),
    blank: between("a: |\n b\n", "\n"),
    folded: between("a: >\n", " b\n\n"),
    plain: between("a: b\n", " b\n"),
    quoted: between('a: "', " b\n", '"'),
  };
}

function exactTexts(): TextCost["texts"] {
  const { list, spaces, string, escapes, open, lists } = JSON_TEXTS;
  const all = { list, spaces, string, escapes, open, lists, number: between("[", "9", "e1]") };
  const withNaN = (make: (length: number) => string) => (length: number) => `[NaN,${make(length - 6)}]`;
  return Object.fromEntries(Object.entries(all).map(([name, make]) => [name, withNaN(make)]));
}

function toTrailers(text: string): unknown {
  const many = Array.from({ length: text.length / 64 }, (_, at) => new HeaderField(`a${at}`, "1"));
  const target = [":method", "GET", ":scheme", "http", ":path", `/${text}`, "host", text];
  const pairs = Array.from({ length: target.length / 2 }, (_, at) => target.slice(2 * at, 2 * at + 2));
  const fields = pairs.map(([name = "", value = ""]) => new HeaderField(name, value));
  readRequestHead({ fields: [...fields, ...many], isTooLarge: false });
  return readTrailers({ fields: [new HeaderField("a", text), ...many], isTooLarge: false });
}

function toForms(text: string): unknown {
  const headed = { headers: { accept: text } };
  return [acceptedParts(headed), acceptedParts({ headers: { accept: `${text},text/event-stream` } }), partForm(headed)];
}

function idTexts(): TextCost["texts"] {
  const idOf = (letter: string) => (length: number) =>
    encodeMessage([textElement(3, filled(letter)(length))]).toString("latin1");
  return { letters: idOf("a"), wide: idOf("é") };
}

/** As its id, as a parameter, as an output and as an error. */
function toPart(text: string): unknown {
  const parameter = messageField(4, [textElement(1, text), messageField(2, [textElement(3, text)])]);
  const many = Array.from({ length: text.length / 64 }, (_, at) => messageField(4, [textElement(1, `a${at}`)]));
  const output = messageField(5, [textElement(1, text), textElement(2, text)]);
  const response = [textElement(3, text), parameter, ...many];
  decodeInferResponse(encodeMessage(response), 2 ** 28);
  decodeStreamResponse(encodeMessage([textElement(1, text), messageField(2, response)]), 2 ** 28);
  return decodeInferResponse(encodeMessage([output]), 2 ** 28);
}

function toParameters(text: string): unknown {
  const parameters = new Map(Array.from({ length: text.length / 16 }, (_, at) => [`a${at}`, 1n] as const));
  return [modelParameters(parameters), readScheduling(parameters), modelParameters(new Map([[text, text]]))];
}

function generateTexts(): TextCost["texts"] {
  return {
    keys: numbered("{", (at) => `"k${at}":1,`, '"a":1}'),
    parameters: numbered('{"parameters":{', (at) => `"k${at}":1,`, '"a":1}}'),
    declared: between('{"x":[', "1,", "1]}"),
    list: between('{"y":[', "1,", "1]}"),
    lists: between('{"x":[', "[],", "[]]}"),
    objects: between('{"x":[', "{},", "{}]}"),
    string: between('{"x":"', "a", '"}'),
    escapes: between('{"y":"', "\\\\", '"}'),
    deep: between('{"x":', "["),
    infer: between('{"inputs":[{"datatype":"FP32"},', "{},", "{}]}"),
    id: between('{"id":[', "1,", "1]}"),
  };
}

/** For a model that takes any inputs, and for one that takes x. */
function toGenerate(text: string): unknown {
  const body = Buffer.from(text);
  const options = { model: "m", version: "1", maxBytes: 2 ** 28 };
  const spec = { name: "x", dtype: "float32", shape: [-1], takesImages: false } as const;
  return [undefined, [spec]].map((inputs) => {
    try {
      return decodeGenerate(body, { ...options, inputs });
    } catch (reason) {
      return reason;
    }
  });
}

function outputTexts(): TextCost["texts"] {
  const start = '{"outputs":[{"name":"y","datatype":"BYTES","shape":[1],"data":[';
  return {
    numbers: between('{"outputs":[{"name":"y","datatype":"FP32","shape":[-1],"data":[', "1,", "1]}]}"),
    texts: between(start, '"a",', '"a"]}]}'),
    text: between(`${start}"`, "a", '"]}]}'),
    outputs: between('{"outputs":[', '{"name":"y"},', '{"name":"y"}]}'),
    error: between('{"error":"', "a", '"}'),
    other: between('{"a":[', "[],", "[]]}"),
  };
}

function lineTexts(): TextCost["texts"] {
  return { ...RUNS, lines: filled("\n"), returns: filled("\r\n"), zeros: filled("\0") };
}

function toEvent(text: string): unknown {
  return ["id", "event", "comment", "data"].map((name) => {
    try {
      return new PartSealer("h", undefined).seal({ [name]: text }, 1);
    } catch (reason) {
      return reason;
    }
  });
}

function eventTexts(): TextCost["texts"] {
  return {
    events: filled('data: {"outputs":[]}\n\n'),
    lines: filled("\n"),
    returns: filled("\r\n"),
    comments: filled(": ping\n\n"),
    ids: filled("id: 1\n"),
    data: filled("data: 1\n", "\n"),
    long: between('data: {"outputs":[', " ", "]}\n\n"),
    open: filled("data: a"),
  };
}

/** Bytes that the network gives at a time. */
const PIECE_BYTES = 64 * KB;

function toBody(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull: (stream) => {
      if (at >= bytes.length) return stream.close();
      stream.enqueue(bytes.slice(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
    },
  });
}

async function readEvents(text: string): Promise<unknown> {
  const reader = new EventReader(toBody(text), "text/event-stream");
  let count = 0;
  while ((await reader.next()) !== undefined) count++;
  return count;
}

async function readForPage(text: string): Promise<unknown> {
  let count = 0;
  for await (const _ of readParts(new Response(toBody(text)))) count++;
  return count;
}

/** Time that has passed, less that in which this thread had no core, if the kernel tells it; in milliseconds. */
function ownTime(): number {
  for (;;) {
    const delayMs = missingMs();
    const now = performance.now();
    // Whoever takes the core between the two would count once.
    if (missingMs() === delayMs) return now - delayMs;
  }
}

function missingMs(): number {
  return existsSync(SCHEDULED) ? Number(readFileSync(SCHEDULED, "latin1").split(" ", 2)[1]) / 1e6 : 0;
}

/**
 * The least of several times that a text takes, in milliseconds of a clock. Default: that of the wall, less what others
 * compute on this machine.
 */
export async function leastMs(
  { read }: TextCost,
  text: string,
  enough: (ms: number, tries: number) => boolean,
  clock = ownTime,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  const bytes = Buffer.from(text, "latin1");
  for (let tries = 0; tries === 0 || !enough(least, tries); tries++) {
    const start = clock();
    try {
      await read(text, bytes);
    } catch {}
    least = Math.min(least, clock() - start);
  }
  return least;
}
