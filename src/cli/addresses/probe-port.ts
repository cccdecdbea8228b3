import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { cannotListen, isKept, toAuthority } from "../../platform/net/listen.ts";
import { flagOf, type SettingName } from "../settings/settings.ts";

/**
 * Listens for a moment, so that a port that cannot be had is known before models load, which may take minutes; resolves
 * with the port, for 0 a free one. Throws `unavailable`, naming the flag that is to be changed.
 */
export async function probePort(host: string, port: number, setting: SettingName): Promise<number> {
  if (isKept(toAuthority(host, port))) return port;
  const probe = createServer().listen(port, host);
  try {
    await once(probe, "listening");
  } catch (cause) {
    throw cannotListen(toAuthority(host, port), cause as Error, { port: flagOf(setting), host: flagOf("host") });
  }
  const { port: bound } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return bound;
}
