import { readFileSync } from "node:fs";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { failedPrecondition, reasonText } from "../errors.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";

/** Credentials for a server; throws `failed_precondition` for a file that cannot be read or used. */
export function clientCredentials(isEncrypted: boolean, { ca, cert, key }: RemoteTlsPaths): ChannelCredentials {
  if (!isEncrypted) return credentials.createInsecure();
  const files = [read(ca, "--remote-ca"), read(key, "--remote-key"), read(cert, "--remote-cert")] as const;
  try {
    return credentials.createSsl(...files);
  } catch (cause) {
    throw failedPrecondition(
      `The files of --remote-cert and --remote-key cannot be used: ${reasonText(cause)}.`,
      cause,
    );
  }
}

function read(path: string | undefined, flag: string): Buffer | null {
  if (path === undefined) return null;
  try {
    const text = readFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
  } catch (cause) {
    throw failedPrecondition(`The file of ${flag} cannot be read from ${path}: ${reasonText(cause)}.`, cause);
  }
  throw failedPrecondition(`${path}, the file of ${flag}, is not in PEM form, which begins with -----BEGIN.`);
}
