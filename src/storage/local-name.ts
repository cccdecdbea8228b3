import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { failedPrecondition, invalidArgument } from "../errors.ts";
import { withoutEnd } from "../platform/text/shorten.ts";
import { filePath, schemeOf } from "./remote-address.ts";

/**
 * The local path for `pvc://CLAIM/PATH` and `file:///PATH`; other paths are returned unchanged. The claim is where
 * KServe mounts it: all of it at `/mnt/pvc`, or its path at `/mnt/models`. Throws `failed_precondition`
 * if it is not mounted.
 */
export function claimPath(path: string, root = "/mnt"): string {
  if (schemeOf(path) !== "pvc") return filePath(path);
  const [claim = "", ...parts] = withoutEnd(path.slice("pvc://".length), "/").split("/");
  if (!/^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/.test(claim))
    throw invalidArgument(`${path.slice(0, 200)} has no claim's name; expected pvc://CLAIM/PATH.`);
  const name = parts.length === 0 ? "" : localName(parts.join("/"));
  const models = join(root, "models");
  const found = [join(root, "pvc", name), join(models, name), join(models, basename(name)), models].find(existsSync);
  if (found !== undefined) return found;
  throw failedPrecondition(
    `${path} is not mounted: neither ${join(root, "pvc", name)} nor ${models} is there; expected the claim as a volume at ${join(root, "pvc")}.`,
  );
}

/** Parts of a name, more than any model's file has: each may be another folder. */
const MAX_PARTS = 32;

/**
 * A file's name below a folder, made of a name that a server or an archive chose. Throws `failed_precondition` for one
 * that would leave the folder, that file systems cannot have, or that is nested too deeply.
 */
export function localName(name: string): string {
  const parts = name.replace(/^(?:\.\/+)+/, "").split("/");
  const isBad = (part: string) => part === "" || part === "." || part === ".." || /[\0\\:]/.test(part);
  const isGood = parts.length <= MAX_PARTS && !name.startsWith("/");
  if (isGood && !parts.some((part) => isBad(part) || Buffer.byteLength(part) > 255)) return parts.join("/");
  throw failedPrecondition(
    `the name ${JSON.stringify(name.slice(0, 200))} cannot be a file's below its folder; rename it`,
  );
}

/** A name as it was before it was encoded for a URL; throws `invalid_argument` for one whose "%" encodes nothing. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch (cause) {
    throw invalidArgument(
      `the name ${JSON.stringify(name.slice(0, 200))} has a "%" that encodes nothing; expected %25 for the sign itself.`,
      cause,
    );
  }
}
