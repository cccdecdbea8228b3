import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { createEventLog } from "../helpers/event-log.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

test("a client that begins TLS at a port without it is logged once", async () => {
  const { log, events } = createEventLog();
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 }, log });
  onTestFinished(() => server.close());
  for (let each = 0; each < 2; each++) {
    const socket = connectTls(Number(new URL(`${server.httpUrl}`).port), "127.0.0.1", { servername: "localhost" });
    await expect(once(socket, "secureConnect")).rejects.toThrow(/wrong version number|packet length|ECONNRESET/);
  }
  expect(events.filter(({ level }) => level === "warn")).toMatchObject([
    { msg: expect.stringMatching(/^a client of the HTTP port begins TLS, which .* --tls-cert and --tls-key$/) },
  ]);
});

test("a client of gRPC at the port of HTTP is logged once, with the port of gRPC", async () => {
  const { log, events } = createEventLog();
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 }, log });
  onTestFinished(() => server.close());
  for (let each = 0; each < 2; each++) {
    const socket = connect(Number(new URL(`${server.httpUrl}`).port), "127.0.0.1")
      .end(PREFACE)
      .resume();
    await once(socket, "close");
  }
  const port = `${server.grpcAddress}`.split(":").at(-1);
  const about = events.filter(({ msg }) => String(msg).includes("HTTP/2"));
  expect(about).toMatchObject([
    { level: "warn", msg: `a client of the HTTP port speaks HTTP/2, as gRPC does: gRPC is served on port ${port}` },
  ]);
});
