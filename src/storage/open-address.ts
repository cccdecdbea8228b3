import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";
import { azClient } from "./az/az-client.ts";
import { isAzureUrl } from "./az/az-location.ts";
import { gsClient } from "./gs/gs-client.ts";
import { hfClient } from "./hf/hf-client.ts";
import { readBody } from "./http/answers.ts";
import { httpsClient } from "./https/https-client.ts";
import { findFiles } from "./objects/find-files.ts";
import { ociClient } from "./oci/oci-client.ts";
import { schemeOf, shownAddress } from "./remote-address.ts";
import { s3Client } from "./s3/s3-client.ts";
import type { StorageAddress, StorageClient } from "./storage-client.ts";

const CLIENTS: Readonly<Record<string, StorageClient>> = {
  s3: s3Client,
  gs: gsClient,
  az: azClient,
  as: azClient,
  hf: hfClient,
  oci: ociClient,
  https: httpsClient,
  http: httpsClient,
};

/** Reads an address; throws `invalid_argument` for one that no client reads. */
export function openAddress(text: string): StorageAddress {
  const client = isAzureUrl(text) ? azClient : CLIENTS[schemeOf(text) ?? ""];
  if (client !== undefined) return client.parse(text);
  const expected = Object.keys(CLIENTS)
    .map((scheme) => `${scheme}://`)
    .join(", ");
  throw invalidArgument(`${shownAddress(text)} is not an address that can be read; expected ${expected} or a path.`);
}

/** Time that reading a text may take, in milliseconds. */
const MAX_MS = 60_000;

/** Reads a small file at an address; throws the errors of the server, and `failed_precondition` for a folder. */
export async function readRemoteText(text: string): Promise<string> {
  const address = openAddress(text);
  const signal = AbortSignal.timeout(MAX_MS);
  try {
    const place = address.open();
    const { files, isFolder } = await findFiles(place, address, signal);
    const file = files.find(({ key }) => key === address.key);
    if (isFolder || file === undefined) throw failedPrecondition("it is a folder; expected a file of text");
    const { stream } = await place.open(file, 0, signal);
    return await readBody(stream);
  } catch (reason) {
    const why = reasonText(reason).replace(/\.$/, "");
    throw new ServingError(ServingError.from(reason).code, `${address.title} cannot be read: ${why}.`, {
      cause: reason,
    });
  }
}
