import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { type Canary, watchCanary } from "./canary.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { ask, firstStatus, post } from "./http-attack.ts";
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
  { name: "ssrf-redirects", server: "texts", prepare: redirectMedia },
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

/** Addresses of this machine, of its network and of clouds, as they are written, and as IPv6 has them. */
const INNER = [
  ...["127.0.0.2", "0.0.0.0", "[::1]", "[::ffff:127.0.0.2]", "10.0.0.7", "192.168.0.1", "100.64.0.1"],
  ...["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
  ...["[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[::a9fe:a9fe]", "[fe80::1]"],
];

/** Asks for images at a server that may be asked, which redirects to such addresses: none is followed. */
async function redirectMedia() {
  const web = createServer(({ url = "" }, response) => {
    response.writeHead(302, { location: `http://${INNER[Number(url.slice(1))]}/latest/meta-data/` }).end();
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  web.unref();
  const { port } = web.address() as AddressInfo;
  return async (target: Target) => {
    const answers = await Promise.all(
      INNER.map((_, place) => {
        const content = [{ type: "image_url", image_url: { url: `http://127.0.0.1:${port}/${place}` } }];
        const body = JSON.stringify({ model: "talk", messages: [{ role: "user", content }] });
        return ask(target, { path: "/v1/chat/completions", body: Buffer.from(body) });
      }),
    );
    web.close();
    const followed = INNER.filter((_, place) => !NOT_FOLLOWED.test(answers[place]?.start ?? ""));
    const got = tally(answers.map(({ status }) => status));
    return followed.length === 0 ? { got } : { got, problem: `it follows to ${followed.join(", ")}` };
  };
}

const NOT_FOLLOWED = /in a private network|which --fetch-media does not list/;

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
async function sendPaths({ http, authorization = "" }: Target): Promise<AttackResult> {
  const statuses: string[] = [];
  let text = "";
  const send = async (path: string, json?: object) => {
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    const answer = await fetch(`${http}${path}`, { ...body, headers: { ...JSON_TYPE, authorization } });
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
