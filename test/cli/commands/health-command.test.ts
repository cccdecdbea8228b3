import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { main } from "../../../src/cli/main.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tlsPath } from "../../helpers/tls-fixture.ts";

/** The exit code and the line of `kserving health`. */
async function health(args: readonly string[], env: Record<string, string> = {}): Promise<[number, string]> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(line));
  try {
    return [await main(["health", ...args], env), lines.join("\n")];
  } finally {
    log.mockRestore();
  }
}

test("health asks a server over gRPC and HTTP, and tells by its exit code whether it is ready", async () => {
  const server = await startServer({ stages: [{ driver: "null" }] });
  const { grpcAddress, httpUrl } = server;
  const port = grpcAddress.split(":").at(-1) as string;
  expect(await health([], { KSERVING_PORT: port })).toEqual([0, `127.0.0.1:${port} is ready`]);
  expect(await health([httpUrl])).toEqual([0, `${httpUrl} is ready`]);
  expect(JSON.parse((await health([httpUrl, "--json"]))[1])).toEqual({ address: httpUrl, ready: true });
  server.retire();
  expect(await health([grpcAddress])).toEqual([1, `${grpcAddress} is not ready: NOT_SERVING`]);
  expect(await health([httpUrl])).toEqual([1, `${httpUrl} is not ready: status 400`]);
  const [code, text] = await health([grpcAddress, "--json"]);
  expect([code, JSON.parse(text)]).toEqual([1, { address: grpcAddress, ready: false, problem: "NOT_SERVING" }]);
  expect((await health([`${httpUrl}/v2/health/live`]))[0]).toBe(0);
});

test("health asks over TLS without a look at the certificate", async () => {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }], tls });
  expect((await health([`grpcs://${grpcAddress}`]))[0]).toBe(0);
  expect((await health([httpUrl]))[0]).toBe(0);
});

test("health shows a certificate to a server that asks for one", async () => {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key"), clientCa: tlsPath("ca.pem") };
  const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }], tls });
  const certificate = ["--remote-cert", tlsPath("client.pem"), "--remote-key", tlsPath("client.key")];
  for (const address of [`grpcs://${grpcAddress}`, httpUrl]) {
    expect((await health([address, ...certificate]))[0]).toBe(0);
    expect((await health([address]))[0]).toBe(1);
  }
});

test.each([
  [["--remote-cert", tlsPath("client.pem")], "--remote-cert and --remote-key go together"],
  [["--remote-cert", "/nowhere.pem", "--remote-key", tlsPath("client.key")], "cannot be read from /nowhere.pem"],
])("health refuses %j", async (flags, message) => {
  const err = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  onTestFinished(() => err.mockRestore());
  expect((await health(flags))[0]).not.toBe(0);
  expect(String(err.mock.calls)).toContain(message);
});

test("health says what is wrong where no server answers", async () => {
  const silent = createServer();
  await once(silent.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  const address = `127.0.0.1:${port}`;
  expect(await health([`http://${address}`, "--timeout", "0.05"])).toEqual([
    1,
    `http://${address} is not ready: no answer in time`,
  ]);
  expect(await health([address, "--timeout", "0.05"])).toEqual([1, `${address} is not ready: no answer in time`]);
});

test.each(["", "http://", "grpcs://"])("health says that nothing listens at a port, asked by %j", async (scheme) => {
  const address = `${scheme}127.0.0.1:1`;
  const advice = "nothing listens there; start a server, or correct the address";
  expect(await health([address])).toEqual([1, `${address} is not ready: ${advice}`]);
});

test("health says how a port is asked that does not speak gRPC", async () => {
  const { httpUrl, grpcAddress } = await startServer({ stages: [{ driver: "null" }] });
  const [code, line] = await health([httpUrl.replace("http://", "")]);
  expect([code, line]).toEqual([1, expect.stringContaining("http:// or https:// before the address asks over HTTP")]);
  expect(line).toContain(`(gRPC is served on port ${grpcAddress.split(":")[1]})`);
});

test("health says what is wrong with an encrypted connection", async () => {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  const stages = [{ driver: "null" }];
  const [plain, encrypted] = [await startServer({ stages }), await startServer({ stages, tls })];
  const mutual = await startServer({ stages, tls: { ...tls, clientCa: tlsPath("ca.pem") } });
  const problem = async (address: string) => (await health([address]))[1].replace(/^.* is not ready: /, "");
  expect(await problem(plain.httpUrl.replace("http:", "https:"))).toMatch(/^it is not encrypted there/);
  expect(await problem(encrypted.httpUrl.replace("https:", "grpcs:"))).toMatch(/^it speaks no gRPC there/);
  for (const address of [`grpcs://${mutual.grpcAddress}`, mutual.httpUrl])
    expect(await problem(address)).toMatch(/^it asks its clients for a certificate/);
});
