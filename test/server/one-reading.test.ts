import { connect as connectNet } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import type { Server } from "../../src/server/server.ts";
import { missingListeners } from "../helpers/missing-listeners.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsPath } from "../helpers/tls-fixture.ts";

const BODY = '{"instances":[1]}';
const INFER = "POST /v1/models/default:predict";
const READS = "GET /v2/models/default";
const JSON_TYPE = "Content-Type: application/json\r\n";
const SIZED = `${JSON_TYPE}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
const CHUNK = `11\r\n${BODY}\r\n0\r\n\r\n`;
/** Follows each request, so that the server closes, and tells where it has seen the end of the one before. */
const LAST = "GET /v2/health/live HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n";

/** Lines after the request line, for a request that runs a model and one that reads about it. */
const HEADERS: Readonly<Record<string, string>> = {
  "no Host": "",
  "an empty Host": "Host:\r\n",
  "a Host of spaces": "Host:   \r\n",
  "a Host with a port": "Host: a:80\r\n",
  "a Host with spaces around": "Host: \t a \t\r\n",
  "a Host with a user": "Host: u@a\r\n",
  "a Host with a path": "Host: a/b\r\n",
  "a Host with a NUL": "Host: a\0b\r\n",
  "a Host of IPv6": "Host: [::1]:80\r\n",
  "a Host in capitals": "HOST: A\r\n",
  "two Hosts": "Host: a\r\nHost: a\r\n",
  "two other Hosts": "Host: a\r\nHost: b\r\n",
  "two Hosts in one": "Host: a, b\r\n",
  "a header twice": "Host: a\r\nX-A: 1\r\nx-a: 2\r\n",
  "two types": "Host: a\r\nContent-Type: text/plain\r\n",
  "two origins": "Host: a\r\nOrigin: http://a\r\nOrigin: http://b\r\n",
  "an origin of its own": "Host: a\r\nOrigin: http://a\r\n",
  "another origin": "Host: a\r\nOrigin: http://b\r\n",
  "a page of another site": "Host: a\r\nSec-Fetch-Site: cross-site\r\n",
  "two ids": "Host: a\r\nX-Request-Id: 1\r\nX-Request-Id: 2\r\n",
  "an id of a line's length": `Host: a\r\nX-Request-Id: ${"i".repeat(4000)}\r\n`,
  "an odd id": "Host: a\r\nX-Request-Id: \xe9\xff\r\n",
  "TE: trailers": "Host: a\r\nTE: trailers\r\nConnection: TE\r\n",
  "TE: chunked": "Host: a\r\nTE: chunked, gzip;q=0\r\n",
  "an upgrade to HTTP/2":
    "Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
  "settings of HTTP/2 alone": "Host: a\r\nHTTP2-Settings: AAMAAABk\r\n",
  "an upgrade to a web socket": "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
  "a connection of named headers": "Host: a\r\nConnection: keep-alive, X-A, Content-Type, Host\r\nX-A: 1\r\n",
  "a proxy's connection": "Host: a\r\nProxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n",
  "a Via": "Host: a\r\nVia: 1.1 b\r\n",
  "a forwarded address": "Host: a\r\nX-Forwarded-For: 1.2.3.4\r\n",
  "a forwarded host": "Host: a\r\nX-Forwarded-Host: b\r\nX-Forwarded-Proto: https\r\n",
  "another method": "Host: a\r\nX-HTTP-Method-Override: DELETE\r\n",
  "another path": "Host: a\r\nX-Original-URL: /v2\r\nX-Rewrite-URL: /v2\r\n",
  "a folded header": "Host: a\r\nX-A: 1\r\n 2\r\n",
  "a folded first header": " Host: a\r\nHost: a\r\n",
  "a space before the colon": "Host : a\r\n",
  "a tab before the colon": "Host: a\r\nX-A\t: 1\r\n",
  "no colon": "Host: a\r\nX-A\r\n",
  "no name": "Host: a\r\n: 1\r\n",
  "a name with a letter that is none": "Host: a\r\nX-\xe9: 1\r\n",
  "a name with a bracket": "Host: a\r\nX(A): 1\r\n",
  "a value with a carriage return": "Host: a\r\nX-A: 1\r2\r\n",
  "a value with a control character": "Host: a\r\nX-A: 1\x012\r\n",
  "a value with other letters": "Host: a\r\nX-A: \xc3\xa9\xff\r\n",
  "a line feed alone": "Host: a\nX-A: 1\r\n",
  "an empty value": "Host: a\r\nX-A:\r\n",
  "many headers": `Host: a\r\n${"X-A: 1\r\n".repeat(500)}`,
  "too many bytes": `Host: a\r\nX-A: ${"1".repeat(20_000)}\r\n`,
  "names of objects": "Host: a\r\n__proto__: 1\r\nconstructor: 2\r\n",
  "a wish to go on": "Host: a\r\nExpect: 100-continue\r\n",
  "another wish": "Host: a\r\nExpect: 200-ok\r\n",
  "two wishes": "Host: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n",
  "other letters to be answered in": "Host: a\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\nRange: bytes=0-1\r\n",
  conditions: 'Host: a\r\nIf-None-Match: *\r\nIf-Match: "a"\r\nIf-Modified-Since: Thu, 01 Jan 2037 00:00:00 GMT\r\n',
  "credentials that nothing asks for": "Host: a\r\nAuthorization: Basic eDp5\r\nCookie: a=b\r\nCookie: c=d\r\n",
};

/** Lines about the body of a request, and the body. */
const BODIES: Readonly<Record<string, string>> = {
  "no length": "\r\n",
  "a length of nothing": "Content-Length:\r\n\r\n",
  "a length of 0": "Content-Length: 0\r\n\r\n",
  "a length with a sign": `Content-Length: +${BODY.length}\r\n\r\n${BODY}`,
  "a length below 0": `Content-Length: -1\r\n\r\n${BODY}`,
  "a length in hexadecimal": `Content-Length: 0x11\r\n\r\n${BODY}`,
  "a length with zeros before": `Content-Length: 000${BODY.length}\r\n\r\n${BODY}`,
  "a length with spaces around": `Content-Length: \t ${BODY.length} \t\r\n\r\n${BODY}`,
  "a length with a space within": `Content-Length: 1 7\r\n\r\n${BODY}`,
  "a length with a fraction": `Content-Length: 17.0\r\n\r\n${BODY}`,
  "the same length twice": `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  "the same length in a list": `Content-Length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}`,
  "two lengths": `Content-Length: 5\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  "a length beyond numbers": `Content-Length: 18446744073709551633\r\n\r\n${BODY}`,
  "a length and chunks": `Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "chunks and a length": `Transfer-Encoding: chunked\r\nContent-Length: ${CHUNK.length}\r\n\r\n${CHUNK}`,
  "a length under another name": `Content_Length: ${BODY.length}\r\n\r\n`,
  chunks: `Transfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "chunks in capitals": `TRANSFER-ENCODING: CHUNKED\r\n\r\n${CHUNK}`,
  "chunks with spaces around": `Transfer-Encoding: \t chunked \t\r\n\r\n${CHUNK}`,
  "chunks in quotes": `Transfer-Encoding: "chunked"\r\n\r\n${CHUNK}`,
  "chunks twice": `Transfer-Encoding: chunked, chunked\r\n\r\n${CHUNK}`,
  "chunks in two lines": `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "chunks and identity": `Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNK}`,
  "gzip and chunks": `Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNK}`,
  "an encoding that there is not": `Transfer-Encoding: xchunked\r\n\r\n${CHUNK}`,
  "an empty encoding": `Transfer-Encoding:\r\n\r\n${CHUNK}`,
  "chunks after a vertical tab": `Transfer-Encoding: \x0bchunked\r\n\r\n${CHUNK}`,
  "chunks with a comma": `Transfer-Encoding: ,chunked\r\n\r\n${CHUNK}`,
  "a space before the colon of chunks": `Transfer-Encoding : chunked\r\n\r\n${CHUNK}`,
  "folded chunks": `Transfer-Encoding:\r\n chunked\r\n\r\n${CHUNK}`,
  "chunks under another name": `Transfer_Encoding: chunked\r\n\r\n`,
  "chunks with extensions": `Transfer-Encoding: chunked\r\n\r\n11;a=b;c="d;e"\r\n${BODY}\r\n0;f\r\n\r\n`,
  "chunks with a long extension": `Transfer-Encoding: chunked\r\n\r\n11;${"a".repeat(17_000)}\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a line feed in an extension": `Transfer-Encoding: chunked\r\n\r\n11;a\n${BODY}\r\n0\r\n\r\n`,
  "chunks with zeros before": `Transfer-Encoding: chunked\r\n\r\n00000011\r\n${BODY}\r\n000\r\n\r\n`,
  "chunks with 0x": `Transfer-Encoding: chunked\r\n\r\n0x11\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a sign": `Transfer-Encoding: chunked\r\n\r\n+11\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a space": `Transfer-Encoding: chunked\r\n\r\n11 \r\n${BODY}\r\n0\r\n\r\n`,
  "chunks beyond numbers": `Transfer-Encoding: chunked\r\n\r\n10000000000000011\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks without a line's end": `Transfer-Encoding: chunked\r\n\r\n11\r\n${BODY}0\r\n\r\n`,
  "chunks of line feeds": `Transfer-Encoding: chunked\n\n11\n${BODY}\n0\n\n`,
  "chunks with trailers": `Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n11\r\n${BODY}\r\n0\r\nX-A: 1\r\n\r\n`,
  "chunks with a Host behind": `Transfer-Encoding: chunked\r\n\r\n11\r\n${BODY}\r\n0\r\nHost: b\r\n\r\n`,
  "an encoding of the content": `Content-Encoding: gzip\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
};

/** Request lines. */
const LINES: Readonly<Record<string, string>> = {
  "a whole URL": "GET http://a/v2/models/default HTTP/1.1",
  "a whole URL of another host": "GET http://attacker.example/v2/models/default HTTP/1.1",
  "a whole URL with a port": "GET http://a:9001/v2/models/default HTTP/1.1",
  "a whole URL with a user": "GET http://u:p@a/v2/models/default HTTP/1.1",
  "a whole URL without a host": "GET http:///v2/models/default HTTP/1.1",
  "a whole URL without a path": "GET http://a HTTP/1.1",
  "a whole URL with a question alone": "GET http://a?b HTTP/1.1",
  "a whole URL in capitals": "GET HTTP://A/v2/models/default HTTP/1.1",
  "a whole URL of TLS": "GET https://a/v2/models/default HTTP/1.1",
  "a whole URL of something else": "GET ftp://a/v2/models/default HTTP/1.1",
  "a whole URL of a model": "POST http://a/v1/models/default:predict HTTP/1.1",
  "a path with a URL": "GET /http://a/v2 HTTP/1.1",
  "two slashes": "GET //v2/models/default HTTP/1.1",
  "two slashes and a host": "GET //a/v2/models/default HTTP/1.1",
  "a slash at the end": "GET /v2/models/default/ HTTP/1.1",
  "two slashes within": "GET /v2//models/default HTTP/1.1",
  dots: "GET /v2/../v2/models/default HTTP/1.1",
  "encoded dots": "GET /v2/%2e%2e/v2/models/default HTTP/1.1",
  "an encoded letter": "GET /v2/models/%64efault HTTP/1.1",
  "an encoded letter in the route": "GET /v%32/models/default HTTP/1.1",
  "an encoded slash": "GET /v2%2fmodels%2Fdefault HTTP/1.1",
  "an encoded NUL": "GET /v2/models/default%00 HTTP/1.1",
  "an encoded line": "GET /v2/models/default%0d%0aX-A:%201 HTTP/1.1",
  "what is not encoded right": "GET /v2/models/%zz HTTP/1.1",
  "half of a letter, encoded": "GET /v2/models/%c3 HTTP/1.1",
  "other letters": "GET /v2/models/\xc3\xa9 HTTP/1.1",
  "bytes that are no letters": "GET /v2/models/\xff\xfe HTTP/1.1",
  "other letters of a model": "POST /v1/models/\xc3\xa9:predict HTTP/1.1",
  "a backslash": "GET /v2\\models\\default HTTP/1.1",
  "a fragment": "GET /v2/models/default#a HTTP/1.1",
  "a question": "GET /v2/models/default?a=b&a=c HTTP/1.1",
  "a question of other letters": "GET /v2/models/default?a=\xff HTTP/1.1",
  "a question with a space": "GET /v2/models/default?a b HTTP/1.1",
  "brackets and braces": 'GET /v2/models/{default}[0]|^`"<> HTTP/1.1',
  capitals: "GET /V2/MODELS/DEFAULT HTTP/1.1",
  "a parameter of the path": "GET /v2/models/default;a=b HTTP/1.1",
  "two spaces": "GET  /v2/models/default HTTP/1.1",
  "a tab": "GET\t/v2/models/default HTTP/1.1",
  "a space at the end": "GET /v2/models/default HTTP/1.1 ",
  "no version": "GET /v2/models/default",
  "HTTP/1.0": "GET /v2/models/default HTTP/1.0",
  "HTTP/1.0 and a whole URL": "GET http://a/v2/models/default HTTP/1.0",
  "HTTP/1.0 and a model": "POST /v1/models/default:predict HTTP/1.0",
  "HTTP/1.2": "GET /v2/models/default HTTP/1.2",
  "HTTP/2.0": "GET /v2/models/default HTTP/2.0",
  "http/1.1": "GET /v2/models/default http/1.1",
  "a method in small letters": "get /v2/models/default HTTP/1.1",
  "a method that there is not": "GETS /v2/models/default HTTP/1.1",
  "an empty line before": "\r\nGET /v2/models/default HTTP/1.1",
  "a star": "OPTIONS * HTTP/1.1",
  "a star to get": "GET * HTTP/1.1",
  "a host to connect to": "CONNECT a:80 HTTP/1.1",
  "no slash": "GET v2/models/default HTTP/1.1",
  HEAD: "HEAD /v2/models/default HTTP/1.1",
  "HEAD of a model": "HEAD /v1/models/default:predict HTTP/1.1",
  OPTIONS: "OPTIONS /v1/models/default:predict HTTP/1.1",
  "OPTIONS of what is read": "OPTIONS /v2/models/default HTTP/1.1",
  TRACE: "TRACE /v2/models/default HTTP/1.1",
  DELETE: "DELETE /v2/models/default HTTP/1.1",
  PATCH: "PATCH /v1/models/default:predict HTTP/1.1",
  "a route that there is not": "GET /nothing HTTP/1.1",
  control: "POST /v2/repository/models/default/unload HTTP/1.1",
  metrics: "GET /ui/history HTTP/1.1",
};

type Requests = readonly (readonly [what: string, text: string])[];

const REQUESTS: Requests = [
  ...Object.entries(HEADERS).flatMap(([what, lines]) => [
    [`${what}, to a model`, `${INFER} HTTP/1.1\r\n${lines}${SIZED}`] as const,
    [`${what}, to what is read`, `${READS} HTTP/1.1\r\n${lines}\r\n`] as const,
    [`${what}, to a model in HTTP/1.0`, `${INFER} HTTP/1.0\r\nConnection: keep-alive\r\n${lines}${SIZED}`] as const,
    [`${what}, to what is read in HTTP/1.0`, `${READS} HTTP/1.0\r\n${lines}\r\n`] as const,
  ]),
  ...Object.entries(BODIES).flatMap(([what, body]) => [
    [`${what}, to a model`, `${INFER} HTTP/1.1\r\nHost: a\r\n${JSON_TYPE}${body}`] as const,
    [`${what}, to what changes`, `POST /v2/repository/index HTTP/1.1\r\nHost: a\r\n${JSON_TYPE}${body}`] as const,
    // One that is wrong within its body may be answered before that is seen.
    ...(what.startsWith("chunks")
      ? []
      : [[`${what}, to what is read`, `${READS} HTTP/1.1\r\nHost: a\r\n${body}`] as const]),
  ]),
  ...Object.entries(LINES).flatMap(([what, line]) => [
    [what, `${line}\r\nHost: a\r\n\r\n`] as const,
    [`${what}, without a Host`, `${line}\r\n\r\n`] as const,
    [`${what}, with another Host and an origin`, `${line}\r\nHost: b\r\nOrigin: http://a\r\n${SIZED}`] as const,
  ]),
];

/** Milliseconds after which an answer that does not end counts as one: it waits for more of its request. */
const OPEN_MS = 1500;
const LONG_OPEN_MS = 5000;
const AT_A_TIME = 40;

/** All that a server answers until it closes, without what differs from answer to answer. */
function answersOf(server: Server, text: string, openMs: number): Promise<string> {
  const { port, hostname: host, protocol } = new URL(server.httpUrl as string);
  const address = { host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
  const socket = protocol === "https:" ? connectTls(address) : connectNet(address);
  let answers = "";
  socket
    .on("error", () => {})
    .on("data", (piece) => {
      answers += piece.toString("latin1");
    });
  socket.write(text + LAST, "latin1");
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), openMs);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve(usual(answers));
    });
  });
}

function usual(answers: string): string {
  const changing = /^(?:date|keep-alive|x-request-id|etag|last-modified): .*\r\n/gim;
  const small = (line: string) => (/^[a-z-]+: /i.test(line) ? line.toLowerCase() : line);
  return answers.replace(changing, "").split("\r\n").map(small).join("\r\n");
}

/** The requests that two servers answer differently. */
async function differences(servers: readonly Server[], requests: Requests, openMs: number): Promise<Requests> {
  const found: (readonly [string, string])[] = [];
  for (let at = 0; at < requests.length; at += AT_A_TIME) {
    const some = requests.slice(at, at + AT_A_TIME).map(async ([what, text]) => {
      const [alone, several] = await Promise.all(servers.map((server) => answersOf(server, text, openMs)));
      if (alone !== several) found.push([what, text]);
    });
    await Promise.all(some);
  }
  return found;
}

const why = missingListeners();

test.skipIf(why !== undefined).each([
  ["", {}],
  [" over TLS", { tls: { cert: tlsPath("server.pem"), key: tlsPath("server.key") } }],
])(
  "a request has one reading with and without listeners%s",
  async (_, more) => {
    const models = { default: { stages: [{ driver: "null" }] } };
    const options = { models, allowControl: "local", ...more } as const;
    const servers = [await startServer({ ...options, listeners: 1 }), await startServer({ ...options, listeners: 2 })];
    const suspects = await differences(servers, REQUESTS, OPEN_MS);
    // On a busy machine some may have come late.
    const certain = await differences(servers, suspects, LONG_OPEN_MS);
    const shown = certain.map(async ([what, text]) => {
      const [alone, several] = await Promise.all(servers.map((server) => answersOf(server, text, LONG_OPEN_MS)));
      return { what, alone, several };
    });
    expect(await Promise.all(shown)).toEqual([]);
  },
  120_000,
);
