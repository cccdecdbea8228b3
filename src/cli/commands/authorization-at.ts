import { parseRemoteAddress } from "../../remote/remote-address.ts";
import { RemoteCredentials } from "../../remote/remote-credentials.ts";

/** The `Authorization` header at an address, of a file of credentials; undefined where neither has one. */
export async function authorizationAt(address: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const isUrl = /^https?:\/\//.test(address);
  const { authority } = isUrl ? { authority: new URL(address).host } : parseRemoteAddress(address);
  return (await RemoteCredentials.open(path)).headerFor(authority.replace(/\/.*$/, ""));
}
