import { execFile } from "node:child_process";
import { once } from "node:events";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import { promisify } from "node:util";
import { type ChannelCredentials, Client, credentials } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import { probePort } from "../../src/cli/addresses/probe-port.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { OPENING, refusedCalls } from "../grpc/flood-frames.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { hasProgram } from "../helpers/has-program.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";

const CA = tlsFile("ca.pem");
const CLIENT = { cert: tlsFile("client.pem"), key: tlsFile("client.key") };
const TLS = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
const MUTUAL = { ...TLS, clientCa: tlsPath("ca.pem") };
const NUMBERS = Array.from({ length: 300_000 }, (_, index) => index);
const RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest";
const INPUT = { name: "x", datatype: "FP32", shape: [2] };

async function start(options: Partial<ServerOptions> = {}) {
  const { log, events } = createEventLog("info");
  const server = await startServer({ stages: [{ driver: "null" }], tls: TLS, log, ...options });
  return {
    server,
    events,
    port: Number(new URL(server.httpUrl).port),
    grpcPort: Number(server.grpcAddress.split(":").at(-1)),
  };
}

/** The reasons in the log for which clients did not get an encrypted connection; each listener has its own. */
function refusals(events: readonly { readonly msg?: unknown }[]): string[] {
  const start = "a client did not get an encrypted connection: ";
  return events.flatMap(({ msg }) => (String(msg).startsWith(start) ? [String(msg).slice(start.length)] : []));
}

/** Status and body of a request over HTTP/1.1. */
function ask(url: string, body: string | Buffer, tls: ConnectionOptions = {}): Promise<[number | undefined, Buffer]> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", ca: CA, agent: false, ...tls }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve([response.statusCode, Buffer.concat(chunks)]);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The numbers that an echo gives back, or the code of the error. */
function inferOver(address: string, channel: ChannelCredentials, values = [1, 2]): Promise<unknown> {
  const client = new KserveClient(address, channel);
  onTestFinished(() => client.close());
  const message = {
    model_name: "default",
    inputs: [{ ...INPUT, shape: [values.length] }],
    raw_input_contents: [Buffer.from(Float32Array.from(values).buffer)],
  };
  return new Promise((resolve) => {
    (client.ModelInfer as (...args: unknown[]) => void)(
      message,
      (error: { code: number } | null, answer: { raw_output_contents: Buffer[] }) =>
        resolve(error === null ? toNumbers(answer.raw_output_contents[0]!) : error.code),
    );
  });
}

function toNumbers(raw: Buffer): number[] {
  return [...new Float32Array(Uint8Array.from(raw).buffer)];
}

describe("a server with a certificate", () => {
  test("answers over https and over gRPC with TLS, small and large", async () => {
    const { server } = await start();
    expect(server.httpUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const rows = JSON.stringify({ instances: NUMBERS });
    const [status, body] = await ask(`${server.httpUrl}/v1/models/default:predict`, rows);
    expect([status, body.toString().slice(0, 100)]).toEqual([200, expect.stringContaining("predictions")]);
    expect((JSON.parse(body.toString()) as { predictions: number[] }).predictions).toEqual(NUMBERS);
    expect(await inferOver(server.grpcAddress, credentials.createSsl(CA))).toEqual([1, 2]);
    expect(await inferOver(server.grpcAddress, credentials.createSsl(CA), NUMBERS)).toEqual(NUMBERS);
  });

  test("serves both on one port, told apart by what the client offers", async () => {
    const port = await probePort("127.0.0.1", 0, "port");
    const { server } = await start({ port, http: { port } });
    expect((await ask(`${server.httpUrl}/v2/health/ready`, ""))[0]).toBe(405);
    expect(await inferOver(server.grpcAddress, credentials.createSsl(CA))).toEqual([1, 2]);
    expect(new URL(server.httpUrl).host).toBe(server.grpcAddress);
  });

  test.each([
    ["a browser or curl", ["h2", "http/1.1"], "http/1.1"],
    ["a client of HTTP/1.1", ["http/1.1"], "http/1.1"],
    ["grpc-js or grpc-go", ["h2"], "h2"],
    ["gRPC in C++", ["grpc-exp", "h2"], "h2"],
    ["a client that offers nothing", [], false],
  ])("on one port, %s gets its protocol", async (_, ALPNProtocols, expected) => {
    const port = await probePort("127.0.0.1", 0, "port");
    await start({ port, http: { port } });
    const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca: CA, ALPNProtocols });
    onTestFinished(() => void socket.destroy());
    await once(socket, "secureConnect");
    expect(socket.alpnProtocol).toBe(expected);
  });

  test.skipIf(!hasProgram("curl"))("curl reads from a port that both share", async () => {
    const port = await probePort("127.0.0.1", 0, "port");
    const { server } = await start({ port, http: { port } });
    const flags = ["--silent", "--show-error", "--fail", "--cacert", tlsPath("ca.pem")];
    const { stdout } = await promisify(execFile)("curl", [...flags, `${server.httpUrl}/v2`]);
    expect(JSON.parse(stdout)).toMatchObject({ name: "kserving" });
  });

  test("tells who speaks without encryption so, logs it once, and goes on", async () => {
    const { server, port, grpcPort, events } = await start({ listeners: 1 });
    for (const each of [port, grpcPort]) {
      const answer = await plainAnswer(each);
      expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*This port is encrypted; expected TLS/);
    }
    expect(refusals(events)).toEqual(["it speaks HTTP without TLS; expected https:// at the client"]);
    expect((await ask(`${server.httpUrl}/v1/models/default:predict`, '{"instances": [1]}'))[0]).toBe(200);
    expect(await inferOver(server.grpcAddress, credentials.createInsecure())).toBe(14);
  });

  test("closes although a client has not finished its handshake", async () => {
    const { server, port } = await start();
    const silent = connectPlain(port, "127.0.0.1");
    const closed = new Promise((resolve) => silent.on("close", resolve).on("error", () => {}));
    await new Promise((resolve) => silent.on("connect", resolve));
    await server.close();
    await closed;
  });

  test.each(["X25519", "P-256", "P-384"])("exchanges keys by %s", async (ecdhCurve) => {
    const { server } = await start();
    expect((await ask(`${server.httpUrl}/v2/health/ready`, "", { ecdhCurve }))[0]).toBe(405);
  });

  test.each(["ffdhe2048", "ffdhe8192"])("does not exchange keys by %s, which takes long", async (ecdhCurve) => {
    const { server } = await start();
    await expect(ask(`${server.httpUrl}/v2/health/ready`, "", { ecdhCurve })).rejects.toThrow(/handshake failure/);
  });

  test("takes neither keys that an RSA key alone keeps secret nor chained blocks", async () => {
    const { server } = await start({ tls: { cert: tlsPath("rsa.pem"), key: tlsPath("rsa.key") } });
    const askBy = (ciphers: string) =>
      ask(`${server.httpUrl}/v2/health/ready`, "", { ca: tlsFile("rsa.pem"), maxVersion: "TLSv1.2", ciphers });
    await expect(askBy("AES128-GCM-SHA256:AES256-SHA")).rejects.toThrow(/handshake failure/);
    await expect(askBy("ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384")).rejects.toThrow(/handshake failure/);
    expect((await askBy("ECDHE-RSA-AES128-GCM-SHA256"))[0]).toBe(405);
  });

  test("says why a client gets nothing at the gRPC port that offers no protocol there", async () => {
    const { grpcPort, events } = await start({ listeners: 1 });
    const socket = connect({ port: grpcPort, host: "127.0.0.1", servername: "localhost", ca: CA }).resume();
    await once(
      socket.on("error", () => {}),
      "close",
    );
    await expect.poll(() => refusals(events)).toEqual([expect.stringContaining("it offers no protocol of this port")]);
  });

  test("refuses TLS 1.1", async () => {
    const { port } = await start();
    const options = {
      port,
      host: "127.0.0.1",
      ca: CA,
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    } as const;
    await expect(handshake(options)).rejects.toThrow(/protocol version|alert/i);
    expect(await handshake({ port, host: "127.0.0.1", ca: CA })).toBe("TLSv1.3");
  });
});

describe("a server that encrypts gRPC alone", () => {
  const [cert, key] = [tlsFile("server.pem").toString(), tlsFile("server.key").toString()];
  const tls = { cert, key, scope: "grpc" } as const;

  test("does so on its port and on its Unix socket, with texts for files, while HTTP is plain", async () => {
    const grpcSocketPath = join(tempFolder(), "grpc.sock");
    const { server } = await start({ tls, grpcSocketPath });
    expect(server.httpUrl).toMatch(/^http:/);
    expect((await fetch(`${server.httpUrl}/v2/health/ready`)).status).toBe(200);
    for (const address of [server.grpcAddress, `unix:${grpcSocketPath}`]) {
      expect(await inferOver(address, credentials.createSsl(CA))).toEqual([1, 2]);
      expect(await inferOver(address, credentials.createInsecure())).toBe(14);
    }
  });

  test("knows programs of this machine by the socket", async () => {
    const grpcSocketPath = join(tempFolder(), "grpc.sock");
    const reload = async (allowControl: "local" | "off") => {
      const { server } = await start({ tls, grpcSocketPath, allowControl });
      const client = new Client(`unix:${grpcSocketPath}`, credentials.createSsl(CA));
      const code = await new Promise((resolve) =>
        client.makeUnaryRequest(RELOAD, Buffer.from, Buffer.from, Buffer.alloc(0), (error) => resolve(error?.code)),
      );
      client.close();
      await server.close();
      return code;
    };
    // An empty configuration is refused, though the client may send one.
    expect([await reload("local"), await reload("off")]).toEqual([3, 7]);
  });

  test("does not share a port with HTTP", async () => {
    const port = await probePort("127.0.0.1", 0, "port");
    await expect(start({ tls, port, http: { port } })).rejects.toThrow("expected two ports where tls.scope is");
  });
});

describe("a server that wants clients to have a certificate", () => {
  test("answers those that have one", async () => {
    const { server } = await start({ tls: MUTUAL });
    const [status] = await ask(`${server.httpUrl}/v1/models/default:predict`, '{"instances": [1]}', CLIENT);
    expect(status).toBe(200);
    expect(await inferOver(server.grpcAddress, credentials.createSsl(CA, CLIENT.key, CLIENT.cert))).toEqual([1, 2]);
  });

  test("refuses those that have none, or one that its authority has not signed", async () => {
    const { server, events } = await start({ listeners: 1, tls: { ...MUTUAL, clientCa: tlsPath("client.pem") } });
    for (const own of [{}, { cert: tlsFile("renewed.pem"), key: tlsFile("renewed.key") }])
      await expect(ask(`${server.httpUrl}/v2/health/ready`, "", own)).rejects.toThrow();
    expect(await inferOver(server.grpcAddress, credentials.createSsl(CA))).toBe(14);
    expect(refusals(events)).toEqual([
      "it shows no certificate, which --tls-client-ca asks for",
      "its certificate is of no authority in the file of --tls-client-ca",
    ]);
  });
});

test("files that do not work end the start before a model is loaded", async () => {
  const tls = { ...TLS, key: tlsPath("client.key") };
  const starting = startServer({ stages: [{ driver: "onnx", path: "/nowhere.onnx" }], tls });
  await expect(starting).rejects.toThrow("the private key is not that of the certificate");
});

/** The version of a handshake that succeeds. */
function handshake(options: ConnectionOptions): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(options, () => {
      resolve(socket.getProtocol());
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

function plainAnswer(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connectPlain(port, "127.0.0.1", () => socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {}).on("close", () => resolve(text));
  });
}

test("a client that is gone while it is sent something leaves no socket behind", async () => {
  const pings = ["grpc.keepalive_time_ms=200", "grpc.keepalive_timeout_ms=200"];
  const { grpcPort } = await start({ grpcChannelArguments: pings });
  const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  const before = countSockets();
  const plain = connectPlain(grpcPort, "127.0.0.1");
  const socket = connect({ socket: plain, ALPNProtocols: ["h2"], ca: CA, servername: "localhost" });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  socket.write(OPENING);
  await once(socket, "data");
  socket.write(refusedCalls(900));
  plain.resetAndDestroy();
  await expect.poll(countSockets, { timeout: 5000 }).toBe(before);
});
