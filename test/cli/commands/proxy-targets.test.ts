import { expect, onTestFinished, test } from "vitest";
import { ProxyTargets, type ProxyTargetsOptions } from "../../../src/cli/commands/proxy-targets.ts";
import { createServer } from "../../../src/server/server.ts";
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
