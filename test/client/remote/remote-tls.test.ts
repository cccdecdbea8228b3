import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { AccessPolicy } from "../../../src/access/access-policy.ts";
import { openConnectionLimit } from "../../../src/access/client-gate.ts";
import { TrustedProxies } from "../../../src/access/trusted-proxies.ts";
import { openProxyPort } from "../../../src/cli/commands/proxy-command.ts";
import { ProxyTargets } from "../../../src/cli/commands/proxy-targets.ts";
import { createRemoteService } from "../../../src/client/remote/remote-service.ts";
import { RemoteTlsFiles } from "../../../src/client/remote/remote-tls-files.ts";
import { parseServerAddress } from "../../../src/client/remote/server-address.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import type { RemoteTlsPaths } from "../../../src/pipeline/remote.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { PROTOCOLS } from "../../../src/server/protocols.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { tlsFile, tlsPath } from "../../helpers/tls-fixture.ts";

const PORT_FILES = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
const CA = tlsPath("ca.pem");
const CLIENT = { ca: CA, cert: tlsPath("client.pem"), key: tlsPath("client.key") };
const BODY = JSON.stringify({ instances: [1, 2] });
const PREDICT = "/v1/models/default:predict";

/** A server whose clients need a certificate; returns its port. */
async function startEncrypted(): Promise<string> {
  const stages = [{ driver: "null" }];
  const { grpcAddress } = await startServer({ stages, tls: { ...PORT_FILES, clientCa: CA } });
  return grpcAddress.split(":").at(-1)!;
}

/** Sends a request whose hook, in its own thread, calls an address; returns the answer. */
async function askByHook(address: string, remoteTls?: RemoteTlsPaths) {
  const code = `export default { preprocess: (inputs, ctx) => ctx.remote("${address}").predict(inputs) };`;
  const hooks = join(tempFolder({ "hooks.ts": code }), "hooks.ts");
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks, ...(remoteTls && { remoteTls }) });
  const response = await fetch(httpUrl + PREDICT, { method: "POST", body: BODY });
  return { status: response.status, body: await response.text() };
}

async function startProxy(grpcAddress: string, tls: RemoteTlsPaths, portFiles = {}, maxConnections = 0) {
  const targets = new ProxyTargets({ grpcAddress, allowProxyHeaders: true, forwardAuthorization: false, tls });
  const [log, policy] = [createSilentLogger(), new AccessPolicy({})];
  const connections = openConnectionLimit({ max: maxConnections, proxies: new TrustedProxies([]), log });
  const given = { protocols: PROTOCOLS, settings: sliceSettings({}), policy, connections, log };
  const options = { host: "127.0.0.1", port: 0, ...given };
  const proxy = await openProxyPort(targets.toService(), options, { ...PORT_FILES, ...portFiles });
  onTestFinished(async () => {
    await proxy.close(0);
    await targets.close();
  });
  return proxy.url;
}

/** Status of a request over HTTPS, or the code of the error. */
function askOver(url: string, headers: Record<string, string> = {}): Promise<unknown> {
  return new Promise((resolve) => {
    const sent = request(url + PREDICT, { method: "POST", headers, ca: tlsFile("ca.pem"), agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
    sent.end(BODY);
  });
}

describe("ctx.remote", () => {
  test("reaches an encrypted server by grpcs://, and shows it a certificate", async () => {
    const port = await startEncrypted();
    expect(await askByHook(`grpcs://localhost:${port}`, CLIENT)).toMatchObject({ status: 200 });
  });

  test("does not trust a server whose authority it does not know", async () => {
    const port = await startEncrypted();
    const { status, body } = await askByHook(`grpcs://localhost:${port}`);
    expect([status, body]).toEqual([503, expect.stringContaining("cannot be reached")]);
  });

  test.each([
    ["a file that is not there", { ca: "/nowhere.pem" }, "The file of --remote-ca cannot be read from /nowhere.pem"],
    ["a key as a certificate", { ...CLIENT, cert: CLIENT.key }, "--remote-cert and --remote-key cannot be used"],
  ])("is refused with %s before a port opens", async (_, remoteTls, message) => {
    const opening = startServer({ stages: [{ driver: "null" }], remoteTls });
    await expect(opening).rejects.toThrow(message);
  });
});

test("a renewed certificate is shown to servers on the next connection", async () => {
  const folder = tempFolder({ "own.pem": tlsFile("client.pem"), "own.key": tlsFile("client.key") });
  const [cert, key] = [join(folder, "own.pem"), join(folder, "own.key")];
  const shown: unknown[] = [];
  const server = createTlsServer({
    ...{ cert: tlsFile("server.pem"), key: tlsFile("server.key"), ca: tlsFile("ca.pem") },
    ...{ requestCert: true, ALPNProtocols: ["h2"] },
  });
  server.on("secureConnection", (socket) => {
    shown.push(socket.getPeerCertificate().subject.CN);
    socket.destroy();
  });
  await once(server.listen(0, "localhost"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const service = createRemoteService(`grpcs://localhost:${port}`, { tls: { ca: CA, cert, key } });
  onTestFinished(() => service.close());
  await expect.poll(() => shown).toContain("client");
  copyFileSync(tlsPath("renewed.pem"), cert);
  copyFileSync(tlsPath("renewed.key"), key);
  const reconnect = () => {
    service.isReady();
    return shown;
  };
  await expect.poll(reconnect, { timeout: 10_000 }).toContain("renewed");
});

describe("RemoteTlsFiles", () => {
  test("are those from before while the new ones do not fit together, and say so", async () => {
    const folder = tempFolder({ "own.pem": tlsFile("client.pem"), "own.key": tlsFile("client.key") });
    const [cert, key] = [join(folder, "own.pem"), join(folder, "own.key")];
    const files = new RemoteTlsFiles({ cert, key });
    const { context } = files;
    expect(await files.refresh()).toEqual([]);
    copyFileSync(tlsPath("renewed.pem"), cert);
    expect(files.context).toBe(context);
    await expect(files.refresh()).rejects.toThrow("--remote-cert and --remote-key cannot be used");
    copyFileSync(tlsPath("renewed.key"), key);
    expect(await files.refresh()).toEqual([cert, key]);
    expect(files.context).not.toBe(context);
  });

  test("a certificate without its key is refused", () => {
    expect(() => new RemoteTlsFiles({ cert: CLIENT.cert })).toThrow("a certificate and its private key go together");
  });
});

describe("kserving proxy", () => {
  test("is encrypted on both sides", async () => {
    const url = await startProxy(`grpcs://localhost:${await startEncrypted()}`, CLIENT);
    expect(url).toMatch(/^https:/);
    expect(await askOver(url)).toBe(200);
  });

  test("speaks to the servers that clients name as to its own", async () => {
    const [own, other] = [await startEncrypted(), await startEncrypted()];
    const url = await startProxy(`grpcs://localhost:${own}`, CLIENT);
    expect(await askOver(url, { "proxy-addr": "localhost", "proxy-port": other })).toBe(200);
  });

  test("limits the connections of its encrypted port", async () => {
    const url = await startProxy("localhost:1", {}, {}, 1);
    const first = connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void first.destroy());
    await once(first, "connect");
    expect(await askOver(url)).toBe("ECONNRESET");
    first.destroy();
    await expect.poll(() => askOver(url)).toBe(503);
  });

  test("serves only clients with a certificate where --tls-client-ca says so", async () => {
    const url = await startProxy(`grpcs://localhost:${await startEncrypted()}`, CLIENT, { clientCa: CA });
    expect(await askOver(url)).toMatch(/ECONNRESET|CERTIFICATE_REQUIRED/);
  });
});

test.each([
  ["host:9000", "host:9000", false],
  ["grpc://host:9000", "host:9000", false],
  ["grpcs://[::1]:9000", "[::1]:9000", true],
])("the address %s", (address, authority, isEncrypted) => {
  expect(parseServerAddress(address)).toEqual({ authority, isEncrypted });
});
