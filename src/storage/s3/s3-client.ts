import { parseSha256 } from "../parse-sha256.ts";
import type { StorageClient } from "../storage-client.ts";
import { S3Place } from "./s3-place.ts";
import { parseS3 } from "./s3-settings.ts";

/** Buckets of Amazon S3 and of servers with its interface, such as MinIO. */
export const s3Client: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const location = parseS3(address);
    const { key } = location;
    const open = () => S3Place.of(location);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};
