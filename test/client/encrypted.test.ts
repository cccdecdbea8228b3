import { spawn } from "node:child_process";
import { once } from "node:events";
import https from "node:https";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type CallError, type ConnectOptions, connect } from "../../src/client/node.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";

const X = { x: createTensor("float32", [3], Float32Array.of(1, 2, 5)) };
const CA = tlsFile("ca.pem").toString();
const OWN_AUTHORITY = { NODE_EXTRA_CA_CERTS: tlsPath("ca.pem") };
const OWN = { cert: tlsFile("client.pem").toString(), key: tlsFile("client.key").toString() };

/** An encrypted server that returns its inputs. */
function startEncrypted(clientCa?: string) {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key"), ...(clientCa && { clientCa }) };
  return startServer({ stages: [{ driver: "null" }], tls });
}

/** The outputs of one call over HTTP, or its error's message, as a program prints them. */
async function predictElsewhere(url: string, { env = {}, setup = "" } = {}): Promise<string> {
  const program = `
    import { connect } from "./dist/client/node.js";
    ${setup}
    const models = connect(process.argv[1], { retries: false });
    const outputs = await models.default.predict({ x: [1, 2, 5] }).catch((reason) => reason.message);
    console.log(JSON.stringify(outputs));`;
  const args = ["--input-type=module", "-e", program, url.replace("127.0.0.1", "localhost")];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return output;
}

/** The result of one call over gRPC, or its error. */
async function call(grpcAddress: string, tls: NonNullable<ConnectOptions["tls"]>): Promise<unknown> {
  const models = connect(`grpcs://${grpcAddress.replace("127.0.0.1", "localhost")}`, { tls, retries: false });
  onTestFinished(() => models.$close());
  const outputs = await models.default!.predict(X).catch((reason: CallError) => reason);
  return outputs instanceof Error ? outputs : outputs.x;
}

test("a client trusts the authority that it is given, and no other", async () => {
  const { grpcAddress } = await startEncrypted();
  expect(await call(grpcAddress, { ca: CA })).toMatchObject({ shape: [3] });
  const stranger = (await call(grpcAddress, {})) as CallError;
  expect(stranger.message).toMatch(/certificate.*tls: \{ ca \} or by NODE_EXTRA_CA_CERTS/is);
});

test("a client shows its certificate to a server that asks for one", async () => {
  const { grpcAddress } = await startEncrypted(tlsPath("ca.pem"));
  expect(await call(grpcAddress, { ca: CA, ...OWN })).toMatchObject({ shape: [3] });
  expect(await call(grpcAddress, { ca: CA })).toMatchObject({ code: "unavailable" });
});

test("Node's own setting names the authority of HTTPS", async () => {
  const { httpUrl } = await startEncrypted();
  const mutual = await startEncrypted(tlsPath("ca.pem"));
  expect(await predictElsewhere(httpUrl, { env: OWN_AUTHORITY })).toContain('"shape":[3]');
  expect(await predictElsewhere(mutual.httpUrl, { env: OWN_AUTHORITY })).toMatch(/clients for a certificate/);
  expect(await predictElsewhere(httpUrl)).toMatch(/certificate.*NODE_EXTRA_CA_CERTS/is);
});

// Node 20's does so now and then if a server of TLS 1.3 refuses a client after the handshake.
test("a program whose fetch never settles is told so before it ends", async () => {
  const { httpUrl } = await startEncrypted();
  const setup = "globalThis.fetch = () => new Promise(() => {});";
  expect(await predictElsewhere(httpUrl, { setup })).toMatch(/cannot be reached.*clients for a certificate/);
});

test("a fetch of one's own may bring certificates", async () => {
  const { httpUrl } = await startEncrypted(tlsPath("ca.pem"));
  const agent = new https.Agent({ ca: CA, ...OWN });
  onTestFinished(() => agent.destroy());
  const own = (async (url: string, { method, headers, body }: RequestInit) => {
    const request = https.request(url, { agent, method, headers: Object.fromEntries(new Headers(headers)) });
    const answered = once(request, "response");
    request.end(body);
    const [response] = await answered;
    return new Response(await text(response), { status: response.statusCode, headers: response.headers });
  }) as typeof fetch;
  const models = connect(httpUrl, { fetch: own, retries: false });
  const { x } = await models.default!.predict({ x: [1, 2, 5] });
  expect([...(x?.data ?? [])]).toEqual([1, 2, 5]);
});
