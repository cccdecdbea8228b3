import type { ControlAccess } from "../../access/control-access.ts";
import { isLoopback } from "../../access/local-host.ts";

/** One line on the permissions of clients on other machines; undefined where only this machine reaches the server. */
export function openAccessNotice(host: string, allowControl: ControlAccess): string | undefined {
  if (host === "localhost" || isLoopback(host)) return undefined;
  const control = allowControl === "all" ? ", load and unload models, and change what is logged" : "";
  return `Every client that reaches this server may run models${control}: it asks for no password. --host 127.0.0.1 serves this machine alone.`;
}
