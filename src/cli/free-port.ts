import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A port that was free a moment ago, for a program that must be told its port. */
export async function findFreePort(host: string): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
