import { invalidArgument, type ServingError } from "../errors.ts";
import { schemeOf } from "./remote-address.ts";

/** Names for all files of a place, for which one checksum cannot stand. */
const WHOLE: Readonly<Record<string, string>> = {
  oci: "; the digest of all is named by oci://REGISTRY/REPOSITORY@sha256:HEX",
  hf: "; the commit of all is named by hf://OWNER/NAME@COMMIT",
};

/** The error of a folder with a checksum, which would be compared with nothing. */
export function notOneFile(title: string): ServingError {
  const whole = WHOLE[schemeOf(title) ?? ""] ?? "";
  return invalidArgument(
    `#sha256= is the checksum of one file, and this is a folder. Give the address of a file or an archive${whole}`,
  );
}
