import { invalidArgument } from "../errors.ts";
import { azClient } from "./az/az-client.ts";
import { isAzureUrl } from "./az/az-location.ts";
import { gsClient } from "./gs/gs-client.ts";
import { hfClient } from "./hf/hf-client.ts";
import { httpsClient } from "./https/https-client.ts";
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
