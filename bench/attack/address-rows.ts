import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { type Canary, watchCanary } from "./canary.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { firstStatus, post } from "./http-attack.ts";
import { bytesField, varint } from "./protobuf.ts";
import { SECRET } from "./server-arguments.ts";

const INFER = "/v2/models/default/infer";
const JSON_TYPE = { "content-type": "application/json" };
/** Names of files as a model's name. */
const PATHS = [
  "../outside",
  "..%2foutside",
  "..%252foutside",
  "%2e%2e/outside",
  "..\\outside",
  "....//outside",
  "../secret.txt",
  "..%2fsecret.txt",
  "/etc/passwd",
  "%2fetc%2fpasswd",
  "file:%2f%2f%2fetc%2fpasswd",
  "default%00",
  "default/../../outside",
  ".",
  "..",
  "~",
  "con",
];

/** Addresses and paths where names and values are expected: the server connects to none, and opens none. */
export const ADDRESS_ROWS: readonly AttackRow[] = [
  { name: "ssrf-headers", server: "null", prepare: () => sendAddresses },
  { name: "ssrf-images", server: "hook-images", prepare: () => sendAddresses },
  { name: "path-names", server: "repository", isPlain: true, prepare: () => sendPaths },
];

/** Names a server of ours wherever an address could be believed. */
async function sendAddresses(target: Target): Promise<AttackResult> {
  const canary = await watchCanary();
  const statuses = [await absoluteTarget(target, canary), await connectTo(target, canary)];
  for (const headers of forwardingHeaders(canary)) {
    const body = Buffer.from(JSON.stringify(inferOf(canary.url)));
    statuses.push(await post(target, { path: INFER, body, headers: { ...JSON_TYPE, ...headers } }));
  }
  for (const [path, json] of addressBodies(canary)) {
    statuses.push(await post(target, { path, body: Buffer.from(JSON.stringify(json)), headers: JSON_TYPE }));
  }
  const { url } = canary;
  const message = Buffer.concat([bytesField(1, url), bytesField(5, bytesField(1, url), bytesField(3, varint(1)))]);
  statuses.push(await call(target, { path: METHODS.infer, message, headers: { "grpc-proxy": url } }));
  await wait(300);
  const got = tally(statuses);
  return canary.close() > 0 ? { got, problem: "it connects to an address of a client" } : { got };
}

function inferOf(text: string): object {
  return { inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: [text] }], parameters: { url: text } };
}

function forwardingHeaders({ url, authority }: Canary): Readonly<Record<string, string>>[] {
  const names = ["host", "x-forwarded-host", "x-forwarded-for", "x-real-ip", "proxy", "http-proxy", "x-original-url"];
  const urls = ["x-rewrite-url", "referer", "origin", "x-callback-url", "traceparent", "tracestate", "location"];
  return [
    ...names.map((name) => ({ [name]: authority })),
    ...urls.map((name) => ({ [name]: url })),
    { forwarded: `for=${authority};host=${authority};proto=http` },
    { "proxy-authorization": "Basic YTpi", "proxy-connection": "keep-alive" },
  ];
}

function addressBodies({ url }: Canary): (readonly [path: string, json: object])[] {
  return [
    ["/v1/models/default:predict", { instances: [url, { b64: Buffer.from(url).toString("base64") }] }],
    ["/v1/models/default:predict", { inputs: { x: [url] }, signature_name: url }],
    ["/serving-proxy", { inputs: { x: url } }],
    [`/v2/models/${encodeURIComponent(url)}/infer`, inferOf(url)],
    ["/v2/repository/models/default/load", { parameters: { config: url, "file:1/model.onnx": url } }],
    ["/v2/systemsharedmemory/region/a/register", { key: url, offset: 0, byte_size: 4 }],
    ["/v2/trace/setting", { trace_file: url }],
  ];
}

/** A request whose target is a whole URL, as a proxy is asked. */
function absoluteTarget({ http }: Target, { url }: Canary): Promise<string> {
  return firstStatus(http, `GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`);
}

function connectTo({ http }: Target, { authority }: Canary): Promise<string> {
  return firstStatus(http, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
}

/** Sends paths wherever a model's name or version can stand, by a client that may control the server. */
async function sendPaths({ http }: Target): Promise<AttackResult> {
  const statuses: string[] = [];
  let text = "";
  const send = async (path: string, json?: object) => {
    const init = json === undefined ? {} : { method: "POST", body: JSON.stringify(json), headers: JSON_TYPE };
    const answer = await fetch(`${http}${path}`, init);
    statuses.push(String(answer.status));
    text += await answer.text();
  };
  for (const name of PATHS) {
    await send(`/v2/repository/models/${name}/load`, {});
    await send(`/v2/repository/models/${encodeURIComponent(name)}/load`, {});
    await send(`/v2/models/${encodeURIComponent(name)}/config`);
    await send(`/v2/models/default/versions/${encodeURIComponent(name)}`);
    await send(`/v1/models/${encodeURIComponent(name)}:predict`, { instances: [1] });
    await send(`/v1/models/default/labels/${encodeURIComponent(name)}:predict`, { instances: [1] });
    await send("/v2/repository/models/other/load", { parameters: { [`file:${name}`]: "YQ==", config: "{}" } });
    await send(`/${encodeURIComponent(name)}`);
    await send(`/static/${name}`);
  }
  const got = tally(statuses);
  if (text.includes(SECRET) || text.includes("root:")) return { got, problem: "it shows a file" };
  if (text.includes("kserving-attack-")) return { got, problem: "it tells a path" };
  return statuses.some((status) => status.startsWith("5"))
    ? { got, problem: "expected no status of 500 or more" }
    : { got };
}
