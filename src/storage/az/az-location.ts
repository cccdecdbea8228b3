import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { type Environment, firstOf } from "../environment.ts";
import { decodeName } from "../local-name.ts";
import { shownAddress } from "../remote-address.ts";

/** Container, key, and the server of its account. */
export interface AzLocation {
  readonly account: string;
  /** Without a slash at its end; of an emulator with the account in the path. */
  readonly endpoint: string;
  readonly container: string;
  readonly key: string;
  /** A shared access signature in the address, without a question mark. */
  readonly signature?: string | undefined;
}

const EXPECTED =
  "az://CONTAINER/PATH, as://ACCOUNT/CONTAINER/PATH or https://ACCOUNT.blob.core.windows.net/CONTAINER/PATH";

/** Checks if a URL is that of Azure's storage. */
export function isAzureUrl(address: string): boolean {
  return /^https:\/\/[^/]+\.blob\.core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)\//i.test(address);
}

/**
 * Reads an address: Azure's own URL, with a shared access signature perhaps; Triton's `as://ACCOUNT/CONTAINER/PATH`; or
 * `az://CONTAINER/PATH` of the account in AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT.
 */
export function parseAz(address: string, env: Environment): AzLocation {
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/([^?]*)/i.exec(address) ?? [];
  const parts = rest.split("/").filter((part) => part !== "");
  if (scheme.toLowerCase() === "az") return locate(address, parts, ofEnvironment(env));
  const [host = "", ...path] = parts;
  const account = host.split(".", 1)[0] ?? "";
  const own =
    scheme.toLowerCase() === "https"
      ? { account, endpoint: `https://${host}` }
      : { account, endpoint: endpointOf(account) };
  const signature = scheme.toLowerCase() === "https" ? address.split("?")[1] : undefined;
  const decoded = scheme.toLowerCase() === "https" ? path.map(decodeName) : path;
  return { ...locate(address, decoded, own), signature };
}

function locate(
  address: string,
  [container = "", ...path]: readonly string[],
  server: Pick<AzLocation, "account" | "endpoint">,
): AzLocation {
  if (/^(?:\$root|\$web|[a-z\d](?:[a-z\d-]{1,61}[a-z\d]))$/.test(container))
    return { ...server, container, key: path.join("/") };
  throw invalidArgument(`${shownAddress(address).slice(0, 200)} has no container's name; expected ${EXPECTED}.`);
}

function ofEnvironment(env: Environment): Pick<AzLocation, "account" | "endpoint"> {
  const { AccountName, BlobEndpoint, EndpointSuffix = "core.windows.net" } = connectionOf(env);
  const account = AccountName ?? firstOf(env, "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME");
  const endpoint = BlobEndpoint ?? firstOf(env, "AZURE_STORAGE_BLOB_ENDPOINT");
  if (account === undefined && endpoint === undefined)
    throw failedPrecondition(
      `az:// is read from the account of AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT, and neither is set; expected one of them, or the account in the address: ${EXPECTED}.`,
    );
  const found = endpoint ?? endpointOf(account ?? "", EndpointSuffix);
  return { account: account ?? new URL(found).hostname.split(".", 1)[0] ?? "", endpoint: withoutEnd(found, "/") };
}

function endpointOf(account: string, suffix = "core.windows.net"): string {
  return `https://${account}.blob.${suffix}`;
}

/** Keys and values of AZURE_STORAGE_CONNECTION_STRING: `AccountName=…;AccountKey=…;…`. */
export function connectionOf(env: Environment): Readonly<Record<string, string>> {
  const text = firstOf(env, "AZURE_STORAGE_CONNECTION_STRING") ?? "";
  const pairs = text.split(";").flatMap((part): [string, string][] => {
    const at = part.indexOf("=");
    return at === -1 ? [] : [[part.slice(0, at).trim(), part.slice(at + 1)]];
  });
  return Object.fromEntries(pairs);
}
