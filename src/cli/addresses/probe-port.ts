import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { toAuthority } from "../../authority.ts";
import { reasonText, ServingError } from "../../errors.ts";
import { flagOf, type SettingName } from "../settings/settings.ts";

/**
 * Listens for a moment, so that a port that cannot be had is known before models load, which may take minutes; resolves with the port, for 0 a free one.
 * Throws `unavailable`, naming the flag that is to be changed.
 */
export async function probePort(host: string, port: number, setting: SettingName): Promise<number> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, "listening");
  } catch (cause) {
    const why = whyNot(cause, flagOf(setting));
    throw new ServingError("unavailable", `Cannot listen on ${toAuthority(host, port)}: ${why}.`, { cause });
  }
  const { port: bound } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return bound;
}

function whyNot(reason: unknown, flag: string): string {
  switch ((reason as NodeJS.ErrnoException).code) {
    case "EADDRINUSE":
      return `the port is in use; choose another with ${flag}, or 0 for any free one`;
    case "EACCES":
      return `this user may not listen there; choose a port from 1024 on with ${flag}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `--host is no address of this machine (${reasonText(reason)}); expected one, or 0.0.0.0 for all of them`;
    default:
      return reasonText(reason);
  }
}
