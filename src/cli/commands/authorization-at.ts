import { RemoteCredentials } from "../../remote/remote-credentials.ts";
import { parseServerAddress } from "../../remote/server-address.ts";

/** The `Authorization` header at an address, of a file of credentials; undefined where neither has one. */
export async function authorizationAt(address: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const isUrl = /^https?:\/\//.test(address);
  const { authority } = isUrl ? { authority: new URL(address).host } : parseServerAddress(address);
  return (await RemoteCredentials.open(path)).headerFor(authority.replace(/\/.*$/, ""));
}
