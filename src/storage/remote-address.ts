import { existsSync } from "node:fs";
import { dirname, isAbsolute, posix, resolve } from "node:path";
import { invalidArgument } from "../errors.ts";
import { withoutEnd } from "../platform/text/shorten.ts";

/** Schemes of addresses that can be read. */
export const REMOTE_SCHEMES = ["s3", "gs", "az", "as", "hf", "oci", "https", "http"] as const;

/** The scheme of an address, in lower case; undefined for a path. */
export function schemeOf(path: string): string | undefined {
  // Of two letters and more: C:\\ and C:// are drives of Windows.
  return /^([A-Za-z][A-Za-z\d+.-]+):\/\//.exec(path)?.[1]?.toLowerCase();
}

/** Checks if a text is the address of something that is read over the network, and not a path. */
export function isRemoteAddress(path: string): boolean {
  return (REMOTE_SCHEMES as readonly string[]).includes(schemeOf(path) ?? "");
}

/**
 * The path that `file:///PATH` means, as TensorFlow's and KServe's programs read it: its signs stand for themselves,
 * or, if there is no such path, for what they encode. Other texts are returned unchanged.
 */
export function filePath(path: string): string {
  const [, plain] = /^file:\/\/(?:localhost)?(\/.*)$/is.exec(path) ?? [];
  if (plain === undefined || existsSync(plain)) return plain ?? path;
  const decoded = decodeUri(plain);
  return existsSync(decoded) ? decoded : plain;
}

function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The absolute path, or the address, for one that goes out from a folder (default: the working directory), which may be
 * an address too. An address loses the slash at its end.
 */
export function toPlace(given: string, folder = ""): string {
  const path = filePath(given);
  if (isRemoteAddress(path)) return path.replace(/(?<!\/)\/+$/, "");
  if (!isRemoteAddress(folder) || isAbsolute(path)) return resolve(folder, path);
  const [, start = "", rest = ""] = /^([^:]+:\/\/)(.*)$/s.exec(folder) ?? [];
  return withoutEnd(`${start}${posix.join(rest, path)}`, "/");
}

/** The address of something below another one, whose query stays at the end: it may be a signature. */
export function addressBelow(address: string, name: string): string {
  if (name === "") return address;
  const [, start = "", query = ""] = /^([^?#]*)(.*)$/s.exec(address) ?? [];
  return `${withoutEnd(start, "/")}/${name.replace(/^\/+/, "")}${query}`;
}

/** The folder of a file, or of a model's address. */
export function folderOf(path: string): string {
  return isRemoteAddress(path) ? path.replace(/[?#].*$/s, "").replace(/\/[^/]*$/, "") : dirname(resolve(path));
}

/**
 * A user and password, to the last `@` of the host's part; a password that is not encoded may also have signs that end
 * this part, and is told from a port by its letters.
 */
const USER = /^([^:]+:\/\/)(?:[^/?#]*@|[^/?#@[:]*:(?!\d*(?:[/?#]|$)).*@)/s;

/** An address without secrets: without user, password and query. */
export function shownAddress(address: string): string {
  return address.replace(USER, "$1").replace(/[?#].*$/s, "");
}

/** An address and the SHA-256 after it. */
interface CheckedAddress {
  readonly address: string;
  readonly sha256?: string;
}

/** Splits `https://host/model.zip#sha256=HEX`; throws `invalid_argument` for another fragment. */
export function parseSha256(text: string): CheckedAddress {
  const at = text.indexOf("#");
  if (at === -1) return { address: text };
  const [, sha256] = /^sha256=([\da-f]{64})$/i.exec(text.slice(at + 1)) ?? [];
  if (sha256 !== undefined) return { address: text.slice(0, at), sha256: sha256.toLowerCase() };
  throw invalidArgument(
    `${shownAddress(text)} has "#" in it; expected #sha256= and 64 hexadecimal digits, or %23 for the sign itself.`,
  );
}

/**
 * The name of the model at an address, without user, query, ending, tag and revision; of a version's folder that of the
 * one above it. `oci://host/models/face:v1` is `face`, `s3://bucket/face/3` too.
 */
export function addressName(address: string): string {
  const parts = shownAddress(address).split("/").slice(2).filter(Boolean);
  const last = parts.findLastIndex((part) => !/^\d+$/.test(part));
  const name = parts[last] ?? "";
  // Names of repositories have dots in them, and no endings.
  if (isRepository(schemeOf(address), parts, last)) return name.replace(/[:@].*$/, "");
  return name.replace(/\.tar\.gz$|\.[^.]+$/i, "");
}

function isRepository(scheme: string | undefined, parts: readonly string[], index: number): boolean {
  if (scheme === "hf") return index === 1;
  const tagged = parts.findIndex((part, at) => at > 0 && /[:@]/.test(part));
  return scheme === "oci" && (tagged === -1 || tagged === index);
}
