import { wholeEnvironment } from "../../machine/start-secrets.ts";
import { parseSha256 } from "../parse-sha256.ts";
import { shownAddress } from "../remote-address.ts";
import type { StorageClient } from "../storage-client.ts";
import { parseAz } from "./az-location.ts";
import { AzPlace } from "./az-place.ts";

/** Containers of Azure Blob Storage. */
export const azClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const location = parseAz(address, wholeEnvironment());
    const open = () => AzPlace.of(location);
    return { title: shownAddress(address), key: location.key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};
