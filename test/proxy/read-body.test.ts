import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { RawClient } from "./raw-client.ts";
import { serveHttp } from "./serve-http.ts";

const PREDICT = "/v1/models/m:predict";
const BODY = '{"inputs": [1, 2]}';

function post(url: string, body: string | Buffer = BODY, headers: Record<string, string> = {}) {
  return fetch(url + PREDICT, { method: "POST", body, headers });
}

function head(...lines: readonly string[]): string {
  return `${[`POST ${PREDICT} HTTP/1.1`, "Host: x", ...lines].join("\r\n")}\r\n\r\n`;
}

describe("readBody", () => {
  test("refuses a body by its Content-Length before it comes", async () => {
    const service = new ScriptedService();
    const { port } = await serveHttp(service, { maxMessageBytes: 1000 });
    const client = new RawClient(port);
    client.write(head("Content-Length: 1001"));
    expect(await client.received(/\}$/)).toMatch(
      /^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*larger than 1000 bytes/i,
    );
    expect(service.requests).toEqual([]);
  });

  test("cuts a chunked body at the limit", async () => {
    const { port } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1000 });
    const client = new RawClient(port);
    client.write(head("Transfer-Encoding: chunked"));
    client.write(`3e8\r\n${" ".repeat(1000)}\r\n`);
    client.write("1\r\n \r\n");
    expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("tells a client that goes on sending why it is refused", async () => {
    const { url } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1000 });
    for (let round = 0; round < 5; round++) {
      const response = await post(url, Buffer.alloc(20_000_000));
      expect([response.status, await response.json()]).toEqual([
        413,
        { error: "The body is larger than 1000 bytes, the most that this server takes." },
      ]);
    }
  });

  test("takes a body of just the limit", async () => {
    const { url } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1000 });
    expect((await post(url, BODY.padEnd(1000))).status).toBe(200);
  });

  test("limits what a compressed body becomes", async () => {
    const { url } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1_000_000 });
    const gzip = { "content-encoding": "gzip" };
    expect((await post(url, gzipSync(BODY.padEnd(1_000_000)), gzip)).status).toBe(200);
    expect((await post(url, gzipSync(BODY.padEnd(1_000_001)), gzip)).status).toBe(413);
  });

  test("refuses other encodings", async () => {
    const { url } = await serveHttp(new ScriptedService());
    const response = await post(url, BODY, { "content-encoding": "br" });
    expect([response.status, await response.json()]).toEqual([
      415,
      { error: 'Content-Encoding "br" is not supported; send gzip, or no encoding.' },
    ]);
  });

  test("lets a client that asks first send its body, unless it is too large", async () => {
    const { port } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1000 });
    const client = new RawClient(port);
    client.write(head("Expect: 100-continue", `Content-Length: ${BODY.length}`));
    await client.received(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.write(BODY);
    await client.received(/HTTP\/1\.1 200 OK/);
    const other = new RawClient(port);
    other.write(head("Expect: 100-continue", "Content-Length: 1001"));
    expect(await other.received(/\}$/)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("goes on when a client leaves in the middle of its body", async () => {
    const service = new ScriptedService();
    const { url, port } = await serveHttp(service);
    for (const lines of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
      const client = new RawClient(port);
      client.write(head(lines));
      client.write('5\r\n{"inp');
      client.socket.end();
      await client.closed();
    }
    expect((await post(url)).status).toBe(200);
    expect(service.requests).toHaveLength(1);
  });
});
