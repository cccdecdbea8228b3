import { expect, onTestFinished, test } from "vitest";
import { ProxyTargets, type ProxyTargetsOptions } from "../../../src/cli/commands/proxy-targets.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { createServer } from "../../../src/server/server.ts";
import { echo, type Script, ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

/** The `Authorization` that arrives behind a proxy of which a client sends its own. */
async function arrived(options: Partial<ProxyTargetsOptions>): Promise<unknown> {
  let told: unknown = "nothing";
  const preprocess = (inputs: object, { metadata }: { metadata: Record<string, string> }) => {
    told = metadata.authorization;
    return inputs;
  };
  const server = await createServer({ stages: [{ driver: "null" }], hooks: { preprocess } as never, workers: 0 });
  onTestFinished(() => server.close());
  const { grpcAddress } = server;
  const targets = new ProxyTargets({ grpcAddress, allowProxyHeaders: false, forwardAuthorization: false, ...options });
  onTestFinished(() => targets.close());
  const { url } = await serveHttp(targets.toService());
  const body = JSON.stringify({ inputs: { x: [1] } });
  const headers = { authorization: "Bearer client" };
  await (await fetch(`${url}/v1/models/default:predict`, { method: "POST", body, headers })).text();
  return told;
}

test("a client's Authorization stays at the proxy, unless it is to be sent on", async () => {
  expect(await arrived({})).toBeUndefined();
  expect(await arrived({ forwardAuthorization: true })).toBe("Bearer client");
});

test("the proxy's own Authorization counts before the client's", async () => {
  const credentials = { headerFor: () => "Bearer proxy" };
  expect(await arrived({ credentials, forwardAuthorization: true })).toBe("Bearer proxy");
});

test("more requests at a time than --max-queue are refused, and taken again once there is room", async () => {
  const begun = createDeferred<void>();
  const going = createDeferred<void>();
  const script: Script = async (request) => {
    begun.resolve();
    await going.promise;
    return echo(request);
  };
  const { address: grpcAddress } = await serve(new ScriptedService(script));
  const options = { grpcAddress, allowProxyHeaders: false, forwardAuthorization: false, maxQueue: 1 };
  const targets = new ProxyTargets(options);
  onTestFinished(() => targets.close());
  const { url } = await serveHttp(targets.toService());
  const ask = async () => {
    const body = JSON.stringify({ inputs: { x: [1] } });
    const response = await fetch(`${url}/v1/models/default:predict`, { method: "POST", body });
    return { status: response.status, text: await response.text() };
  };
  const first = ask();
  await begun.promise;
  expect(await ask()).toEqual({ status: 503, text: expect.stringContaining("(--max-queue)") });
  going.resolve();
  expect((await first).status).toBe(200);
  expect((await ask()).status).toBe(200);
});
