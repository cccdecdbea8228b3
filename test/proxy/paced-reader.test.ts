import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { request as send } from "node:https";
import type { Socket } from "node:net";
import { createServer } from "node:tls";
import { expect, it, type MockInstance, onTestFinished, vi } from "vitest";
import { PacedReader } from "../../src/proxy/paced-reader.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { listenOnFreePort } from "../http2/listen-on-free-port.ts";

const BODY = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));

function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

it("gives an encrypted body in its order, with what a paused connection still delivers", async () => {
  const http = createHttpServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (bytes: Buffer) => {
      pieces.push(Buffer.from(bytes));
      work(3);
    });
    request.on("end", () => response.end(hashOf(Buffer.concat(pieces))));
  });
  let pause: MockInstance | undefined;
  http.on("connection", (socket: Socket) => {
    pause = vi.spyOn(socket, "pause");
    PacedReader.of(socket, () => false);
  });
  const credentials = { key: tlsFile("server.key"), cert: tlsFile("server.pem") };
  const server = createServer(credentials, (socket) => void http.emit("connection", socket));
  onTestFinished(() => void server.close());
  const port = await listenOnFreePort(server);
  const request = send({ host: "127.0.0.1", port, method: "POST", rejectUnauthorized: false, agent: false });
  request.end(BODY);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const [hash] = await once(response.setEncoding("utf8"), "data");
  expect(pause).toHaveBeenCalled();
  expect(hash).toBe(hashOf(BODY));
});
