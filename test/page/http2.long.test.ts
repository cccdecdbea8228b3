import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { probePort } from "../../src/cli/addresses/probe-port.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { lacksChromium, openPage } from "./browser.ts";

/** The address of a proxy that ends encryption and knows HTTP/2 alone, which it passes on as it is, as many do. */
async function startProxy(target: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const files = { cert: tlsFile("server.pem"), key: tlsFile("server.key") };
  const proxy = createServer({ ...files, ALPNProtocols: ["h2"] }, (client) => {
    const server = connect(Number(port), hostname);
    client.on("error", () => server.destroy()).pipe(server);
    server.on("error", () => client.destroy()).pipe(client);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  return `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Sums of the predictions for rows of numbers, asked for together, and the protocol by which the answers came. */
const PROGRAM = `async (rows) => {
  const ask = (length) => fetch("/v1/models/default:predict", { method: "POST",
    body: JSON.stringify({ instances: Array(length).fill(1) }) }).then((answer) => answer.json());
  const answers = await Promise.all(rows.map(ask));
  const protocols = new Set(performance.getEntries().map(({ nextHopProtocol }) => nextHopProtocol).filter(Boolean));
  return [answers.map(({ predictions }) => predictions.length), [...protocols]];
}`;

describe.skipIf(lacksChromium())("a browser that speaks HTTP/2", () => {
  test.each(["one", "own"])("has the page and its requests, small and large together, at %s port", async (of) => {
    const port = of === "one" ? await probePort("127.0.0.1", 0, "port") : 0;
    const { httpUrl } = await startServer({
      stages: [{ driver: "null" }],
      port,
      http: { port },
      allowControl: "local",
    });
    const page = await openPage(`${await startProxy(httpUrl)}/ui`, { ignoreHTTPSErrors: true });
    await page.getByRole("heading", { name: "default version 1 ready" }).waitFor();
    const rows = [...Array.from({ length: 20 }, (_, index) => index + 1), 500_000];
    expect(await page.evaluate(`(${PROGRAM})(${JSON.stringify(rows)})`)).toEqual([rows, ["h2"]]);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("default is reloaded.").waitFor();
  });
});
