import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { probePort } from "../../../src/cli/addresses/probe-port.ts";

/** A port on which another program listens. */
async function takenPort(): Promise<number> {
  const holder = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void holder.close());
  await once(holder, "listening");
  return (holder.address() as AddressInfo).port;
}

test("0 becomes a free port, which can be listened on afterwards", async () => {
  const port = await probePort("127.0.0.1", 0, "port");
  expect(port).toBeGreaterThan(0);
  expect(await probePort("127.0.0.1", port, "port")).toBe(port);
});

test("a port in use is refused, with the flag that chooses another", async () => {
  const port = await takenPort();
  for (const [setting, flag] of [
    ["port", "--port"],
    ["httpPort", "--http-port"],
  ] as const) {
    await expect(probePort("127.0.0.1", port, setting)).rejects.toMatchObject({
      code: "unavailable",
      message: `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another with ${flag}, or 0 for any free one.`,
    });
  }
});

test.each(["192.0.2.1", "no-such-host.invalid"])(
  "--host %s is refused where it is not an address of this machine",
  async (host) => {
    await expect(probePort(host, 0, "port")).rejects.toMatchObject({
      message: expect.stringContaining(`Cannot listen on ${host}:0: --host is not an address of this machine (`),
    });
  },
);
