import { existsSync } from "node:fs";
import { dirname, isAbsolute, posix, resolve } from "node:path";
import { withoutEnd } from "../text/without-end.ts";

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
 * or, where there is no such path, for what they encode. Other texts are returned unchanged.
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

/** The folder of a file, or of what is at an address. */
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
