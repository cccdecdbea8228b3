import { failedPrecondition } from "../errors.ts";

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
