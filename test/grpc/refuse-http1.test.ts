import { request } from "node:http";
import { connect } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { ScriptedService, serve } from "./scripted-service.ts";

it("answers an HTTP/1 client with the port of HTTP", async () => {
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 } });
  onTestFinished(() => server.close());
  const { port } = new URL(server.httpUrl as string);
  expect(await ask(`http://${server.grpcAddress}/v1/models/default`)).toEqual({
    status: 505,
    body: { error: `This port serves gRPC, which is HTTP/2: HTTP is served on port ${port}.` },
  });
});

it("answers that HTTP is not served, and how to enable it", async () => {
  const { address } = await serve(new ScriptedService());
  const { body } = await ask(`http://${address}/`);
  expect(body).toEqual({ error: expect.stringMatching(/HTTP is not served; --http-enable/) });
});

it("answers before it has read a long body, which it reads while the answer is taken", async () => {
  const { address } = await serve(new ScriptedService());
  const { status } = await ask(`http://${address}/v1/models/m:predict`, Buffer.alloc(4_000_000));
  expect(status).toBe(505);
});

it("logs once what came, and what to do", async () => {
  const { log, events } = createEventLog();
  const { address } = await serve(new ScriptedService(), { log, findHttpPort: () => 8501 });
  await ask(`http://${address}/`);
  await ask(`http://${address}/`);
  const warnings = events.filter(({ level }) => level === "warn");
  expect(warnings).toEqual([expect.objectContaining({ msg: expect.stringMatching(/speaks HTTP\/1.*port 8501/) })]);
});

it("ends a client's TLS handshake, and logs the flags that it would take", async () => {
  const { log, events } = createEventLog();
  const { port } = await serve(new ScriptedService(), { log });
  const socket = connect({ port, host: "127.0.0.1" });
  const reason = await new Promise<Error>((resolve) => socket.on("error", resolve));
  expect(reason.message).toContain("disconnected before secure TLS connection");
  expect(events).toContainEqual(expect.objectContaining({ msg: expect.stringMatching(/TLS.*--tls-cert/) }));
});

function ask(url: string, body = Buffer.alloc(0)): Promise<{ readonly status: number; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body.length > 0 ? "POST" : "GET" }, async (answer) => {
      // The connection ends while the rest of the body is sent.
      sent.off("error", reject).on("error", () => {});
      const chunks = await answer.toArray();
      resolve({ status: answer.statusCode as number, body: JSON.parse(Buffer.concat(chunks).toString()) });
    });
    sent.on("error", reject).end(body);
  });
}
