import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ProxyTargets, type ProxyTargetsOptions } from "../../../src/cli/commands/proxy-targets.ts";
import { createServer } from "../../../src/server/server.ts";
import { inferOnce } from "../../../src/serving/infer-once.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";

/** A server that answers its name; returns its port. */
async function startNamed(name: string): Promise<number> {
  const server = await createServer({ stages: [{ driver: "null" }], hooks: { postprocess: () => ({ name }) } });
  onTestFinished(() => server.close());
  return Number(server.grpcAddress.split(":")[1]);
}

function createTargets(options: ProxyTargetsOptions) {
  const targets = new ProxyTargets(options);
  onTestFinished(() => targets.close());
  const service = targets.toService();
  const ask = async (metadata: Readonly<Record<string, string>>) => {
    const inputs = { kind: "tensors", tensors: toTensors({ x: 1 }) } as const;
    const { signal } = new AbortController();
    const { outputs } = await inferOnce(service, { id: "1", model: "", signature: "", inputs, metadata, signal });
    return outputs;
  };
  return { targets, service, ask };
}

const answer = (name: string) => ({ kind: "tensors", tensors: toTensors({ name }) });

describe("Proxy-Addr and Proxy-Port", () => {
  test("choose the server where that is allowed, and without them the fixed one answers", async () => {
    const [fixed, other] = await Promise.all([startNamed("fixed"), startNamed("other")]);
    const { ask } = createTargets({ grpcAddress: `127.0.0.1:${fixed}`, allowProxyHeaders: true });
    expect(await ask({ "proxy-addr": "127.0.0.1", "proxy-port": String(other) })).toEqual(answer("other"));
    expect(await ask({})).toEqual(answer("fixed"));
  });

  test("mean nothing where it is not", async () => {
    const [fixed, other] = await Promise.all([startNamed("fixed"), startNamed("other")]);
    const { ask } = createTargets({ grpcAddress: `127.0.0.1:${fixed}`, allowProxyHeaders: false });
    expect(await ask({ "proxy-addr": "127.0.0.1", "proxy-port": String(other) })).toEqual(answer("fixed"));
  });

  test.each([
    ["unix:/run/docker.sock", "9000", "Proxy-Addr"],
    ["host/path", "9000", "Proxy-Addr"],
    ["a,b", "9000", "Proxy-Addr"],
    ["localhost", "0", "Proxy-Port"],
    ["localhost", "65536", "Proxy-Port"],
    ["localhost", "http", "Proxy-Port"],
  ])("are refused as %s and %s", async (host, port, header) => {
    const { ask } = createTargets({ grpcAddress: "127.0.0.1:1", allowProxyHeaders: true });
    await expect(ask({ "proxy-addr": host, "proxy-port": port })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(`Header ${header} is`),
    });
  });

  test("leave a bounded number of connections open, and an evicted server can be chosen again", async () => {
    const relay = await startRelay(await startNamed("relayed"));
    const { ask } = createTargets({ grpcAddress: "127.0.0.1:1", allowProxyHeaders: true });
    // All of 127.0.0.0/8 is this machine, so each address is another target on the same server.
    for (let host = 1; host <= 80; host++) {
      expect(await ask({ "proxy-addr": `127.0.0.${host}`, "proxy-port": String(relay.port) })).toEqual(
        answer("relayed"),
      );
    }
    await expect.poll(() => relay.open.size).toBe(64);
    expect(await ask({ "proxy-addr": "127.0.0.1", "proxy-port": String(relay.port) })).toEqual(answer("relayed"));
  });
});

test("a proxy is ready when its server is, or at once where clients choose theirs", async () => {
  const port = await startNamed("fixed");
  const { service } = createTargets({ grpcAddress: `127.0.0.1:${port}`, allowProxyHeaders: false });
  await new Promise<void>((resolve) => service.onReadiness((ready) => ready && resolve()));
  expect(service.isReady()).toBe(true);
  const nowhere = { grpcAddress: "127.0.0.1:1" };
  expect(createTargets({ ...nowhere, allowProxyHeaders: false }).service.isReady()).toBe(false);
  expect(createTargets({ ...nowhere, allowProxyHeaders: true }).service.isReady()).toBe(true);
});

/** Passes connections on to a port of this machine and knows which are open. */
async function startRelay(port: number) {
  const open = new Set<Socket>();
  const relay = createTcpServer({ noDelay: true }, (socket) => {
    open.add(socket);
    const onward = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.on("close", () => {
      open.delete(socket);
      onward.destroy();
    });
    socket.on("error", () => {}).pipe(onward);
    onward.on("error", () => {}).pipe(socket);
  });
  await new Promise<void>((resolve) => relay.listen(0, "0.0.0.0", resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    relay.close();
  });
  return { port: (relay.address() as { port: number }).port, open };
}
