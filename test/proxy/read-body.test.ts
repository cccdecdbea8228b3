import { once } from "node:events";
import { deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { startKserving } from "../cli/start-kserving.ts";
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

  test("takes a large chunked body, which is joined from several buffers", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service, { maxMessageBytes: 50_000_000 });
    const values = Array.from({ length: 3000 }, (_, index) => `${" ".repeat(10_000)}${index}`);
    const text = Buffer.from(`{"inputs": [${values.join(",")}]}`);
    async function* chunks() {
      for (let at = 0; at < text.length; at += 100_000) yield text.subarray(at, at + 100_000);
    }
    const response = await fetch(url + PREDICT, { method: "POST", body: chunks(), duplex: "half" } as RequestInit);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ outputs: values.map(Number) });
  });

  test("tells a client that goes on sending why it is refused", async () => {
    const { url } = await serveHttp(new ScriptedService(), { maxMessageBytes: 1000 });
    for (let round = 0; round < 3; round++) {
      const response = await post(url, Buffer.alloc(20_000_000));
      expect([response.status, await response.json()]).toEqual([
        413,
        { error: "The body is larger than 1000 bytes, the most that this request may have; send less." },
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

  test.each([
    ["gzip", gzipSync(BODY)],
    ["X-GZip", gzipSync(BODY)],
    ["deflate", deflateSync(BODY)],
    ["identity", BODY],
    ["", BODY],
  ])("takes Content-Encoding %j", async (encoding, body) => {
    const { url } = await serveHttp(new ScriptedService());
    expect((await post(url, body, { "content-encoding": encoding })).status).toBe(200);
  });

  test.each(["br", "notgzip", "gzip, gzip", "__proto__"])("refuses Content-Encoding %s", async (encoding) => {
    const { url } = await serveHttp(new ScriptedService());
    const response = await post(url, BODY, { "content-encoding": encoding });
    expect([response.status, await response.json()]).toEqual([
      415,
      { error: `Content-Encoding "${encoding}" is not supported; send gzip, deflate, or no encoding.` },
    ]);
  });

  test("says where a body is not compressed as it says", async () => {
    const { url } = await serveHttp(new ScriptedService());
    const response = await post(url, BODY, { "content-encoding": "gzip" });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error:
          "The body is not valid gzip data, although its headers say so; compress it, or send it without the header.",
      },
    ]);
  });

  test("reads a body in pieces of any size", async () => {
    const service = new ScriptedService();
    const { port } = await serveHttp(service);
    const lines = ["Transfer-Encoding: chunked", `Content-Length: ${BODY.length}`];
    const pieces = [
      [...BODY]
        .map((letter) => `1\r\n${letter}\r\n`)
        .join("")
        .concat("0\r\n\r\n"),
      ...BODY,
    ];
    for (const [line, ...sent] of [
      [lines[0], pieces[0]],
      [lines[1], ...pieces.slice(1)],
    ] as string[][]) {
      const client = new RawClient(port);
      client.socket.setNoDelay(true);
      client.write(head(line as string));
      for (const piece of sent) client.write(piece);
      expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test("in pieces of one byte takes little more memory than the body", { timeout: 60_000 }, async () => {
    const flags = ["--driver", "null", "--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"];
    const program = startKserving(flags, { NODE_OPTIONS: "--max-old-space-size=64" });
    const url = String((await program.event("ready")).http);
    const client = new RawClient(Number(new URL(url).port));
    client.write(head("Transfer-Encoding: chunked"));
    const pieces = "1\r\nx\r\n".repeat(20_000);
    for (let round = 0; round < 40; round++) {
      if (!client.socket.write(pieces)) await once(client.socket, "drain");
    }
    client.write("0\r\n\r\n");
    expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 404 /);
    expect((await fetch(`${url}/health`)).status).toBe(200);
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

  test("counts bodies while they come in, and refuses at once what does not fit beside them", async () => {
    const memory = new MemoryBudget(1000);
    const { url, port } = await serveHttp(new ScriptedService(), { memory });
    const client = new RawClient(port);
    client.write(head("Content-Length: 990"));
    client.write(BODY.padEnd(900));
    await expect.poll(async () => (await post(url, BODY.padEnd(200))).status).toBe(503);
    const refused = await post(url, BODY.padEnd(200));
    expect([refused.headers.get("retry-after"), await refused.json()]).toEqual([
      "1",
      { error: "The requests under way hold 900 bytes (--max-queue-bytes 1000); try again later." },
    ]);
    const zipped = gzipSync(BODY.padEnd(900));
    expect(zipped.length).toBeLessThan(100);
    expect((await post(url, zipped, { "content-encoding": "gzip" })).status).toBe(503);
    expect((await post(url, BODY.padEnd(100))).status).toBe(200);
    client.write(" ".repeat(90));
    await client.received(/HTTP\/1\.1 200 /);
    expect((await post(url, BODY.padEnd(1000))).status).toBe(200);
  });

  test("counts what chunks bring, where their number is not said before", async () => {
    const memory = new MemoryBudget(1000);
    const { port } = await serveHttp(new ScriptedService(), { memory });
    memory.open().grow(500);
    const client = new RawClient(port);
    client.write(head("Transfer-Encoding: chunked"));
    client.write(`1f4\r\n${" ".repeat(500)}\r\n`);
    client.write("1\r\n \r\n");
    expect(await client.received(/\}$/)).toMatch(/^HTTP\/1\.1 503 /);
  });

  test("holds nothing any more once a request has ended, however it did", async () => {
    const memory = new MemoryBudget(100_000);
    const { url, port } = await serveHttp(new ScriptedService(), { memory, maxMessageBytes: 1000 });
    const gone = new RawClient(port);
    gone.write(head("Content-Length: 100"));
    gone.write("{");
    gone.socket.end();
    await gone.closed();
    expect((await post(url)).status).toBe(200);
    expect((await post(url, gzipSync(BODY), { "content-encoding": "gzip" })).status).toBe(200);
    expect((await post(url, "{")).status).toBe(400);
    expect((await post(url, gzipSync(BODY.padEnd(1001)), { "content-encoding": "gzip" })).status).toBe(413);
    await expect.poll(() => memory.hasRoom(100_000, -1)).toBe(true);
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
