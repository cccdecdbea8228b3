import { invalidArgument } from "../../errors.ts";
import { withoutEnd } from "../../text/without-end.ts";
import { parseSha256 } from "../parse-sha256.ts";
import type { StorageClient } from "../storage-client.ts";
import { GsPlace } from "./gs-place.ts";

/** Buckets of Google Cloud Storage. */
export const gsClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const [bucket = "", ...parts] = withoutEnd(address.slice("gs://".length), "/").split("/");
    if (!/^[\w.-]{3,222}$/.test(bucket))
      throw invalidArgument(`${address.slice(0, 200)} has no bucket's name; expected gs://BUCKET/PATH.`);
    const key = parts.filter((part) => part !== "").join("/");
    const open = () => GsPlace.of(bucket);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};
