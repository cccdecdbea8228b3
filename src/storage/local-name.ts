import { failedPrecondition } from "../errors.ts";

/**
 * A file's name below a folder, made of a name that a server or an archive chose. Throws `failed_precondition` for one
 * that would leave the folder or that file systems cannot have.
 */
export function localName(name: string): string {
  const parts = name.replace(/^(?:\.\/+)+/, "").split("/");
  const isBad = (part: string) => part === "" || part === "." || part === ".." || /[\0\\:]/.test(part);
  if (!parts.some((part) => isBad(part) || Buffer.byteLength(part) > 255) && !name.startsWith("/"))
    return parts.join("/");
  throw failedPrecondition(
    `the name ${JSON.stringify(name.slice(0, 200))} cannot be a file's below its folder; rename it`,
  );
}
