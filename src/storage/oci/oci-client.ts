import { parseSha256 } from "../parse-sha256.ts";
import type { StorageClient } from "../storage-client.ts";
import { parseOci } from "./oci-location.ts";
import { OciPlace } from "./oci-place.ts";

/** Models in registries of containers: artifacts, and images with a folder `models`. */
export const ociClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const { key, ...location } = parseOci(address);
    const open = () => OciPlace.of(location);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};
