import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { startKserving } from "../cli/start-kserving.ts";
import { freePort } from "../helpers/free-port.ts";

const HEAD = "HTTP/1.1\r\nHost: x\r\n";
const REQUESTS = [
  `CONNECT x:443 ${HEAD}\r\n`,
  `CONNECT x:443 ${HEAD}\r\nGET / ${HEAD}\r\n`,
  `GET /v2 ${HEAD}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
  `GET /v2 ${HEAD}Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  `GET /v2 ${HEAD}Trailer: a\r\n\r\n`,
  `GET /v2 ${HEAD}X-Request-Id: "token":\r\n\r\n`,
  `GET /"token": ${HEAD}\r\n`,
  `TRACE / ${HEAD}\r\n`,
  `OPTIONS * ${HEAD}\r\n`,
  `POST /v1/models/default:predict ${HEAD}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
  `POST /v1/models/default:predict ${HEAD}Expect: something\r\nContent-Length: 9\r\n\r\n`,
  `POST /v2/models/default/infer ${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"inp\r\n0\r\na: b\r\n\r\n`,
  `POST /v2/models/default/infer ${HEAD}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc`,
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "GET",
];

/** Ends of a connection, once the client has sent its bytes. */
const ENDS = ["resets at once", "resets a little later", "ends its side", "sends on, and resets"] as const;

async function beRude(port: number, bytes: string, end: (typeof ENDS)[number]): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes, "latin1");
  if (end === "ends its side") socket.end();
  else {
    if (end === "sends on, and resets") socket.write("x".repeat(100_000));
    if (end !== "resets at once") await wait(20);
    socket.resetAndDestroy();
  }
  await wait(30);
  socket.destroy();
}

test.each([
  ["of ports for gRPC and HTTP", async () => ["--port", "0", "--http-port", "0"]],
  [
    "of one port for both",
    async () => {
      const port = String(await freePort());
      return ["--port", port, "--http-port", port];
    },
  ],
])("a server %s goes on whatever a client sends before it resets its connection", async (_, ports) => {
  const log = ["--log-format", "text", "--access-log"];
  const args = ["--driver", "null", "--host", "127.0.0.1", "--http-enable", ...log, ...(await ports())];
  const server = startKserving(args);
  const [, grpc, http] = await server.output(/ready .*grpc=127.0.0.1:(\d+)\s+http=http:\/\/127.0.0.1:(\d+)/);
  for (const end of ENDS) {
    const connections = REQUESTS.flatMap((bytes) => [grpc, http].map((port) => beRude(Number(port), bytes, end)));
    await Promise.all(connections);
    const answer = await fetch(`http://127.0.0.1:${http}/v2/health/ready`);
    expect([end, answer.status]).toEqual([end, 200]);
  }
  server.kill("SIGINT");
  expect(await server.ended()).toMatchObject({ code: 0, stderr: "" });
});
