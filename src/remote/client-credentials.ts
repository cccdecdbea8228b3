import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { failedPrecondition, reasonText } from "../errors.ts";
import type { RemoteTlsPaths } from "../pipeline/remote.ts";
import { readPem } from "./read-pem.ts";

/** Credentials for a server; throws `failed_precondition` for a file that cannot be read or used. */
export function clientCredentials(isEncrypted: boolean, { ca, cert, key }: RemoteTlsPaths): ChannelCredentials {
  if (!isEncrypted) return credentials.createInsecure();
  const files = [readPem(ca, "--remote-ca"), readPem(key, "--remote-key"), readPem(cert, "--remote-cert")] as const;
  try {
    return credentials.createSsl(...files);
  } catch (cause) {
    throw failedPrecondition(
      `The files of --remote-cert and --remote-key cannot be used: ${reasonText(cause)}.`,
      cause,
    );
  }
}
