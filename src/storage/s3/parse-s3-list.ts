import { ServingError } from "../../errors.ts";
import { decodeName } from "../decode-name.ts";
import type { ListPage } from "../objects/list-pages.ts";
import { xmlElements, xmlText } from "../objects/xml-elements.ts";
import type { RemoteFile } from "../storage-client.ts";

/** Reads an answer of ListObjectsV2, whose keys are encoded as in URLs; throws `unavailable` for anything else. */
export function parseS3List(xml: string): ListPage {
  if (!xml.includes("<ListBucketResult"))
    throw new ServingError("unavailable", "the server's answer is not a list of S3. Check the endpoint");
  const isEncoded = xmlText(xml, "EncodingType") === "url";
  const files = xmlElements(xml, "Contents").map((element) => toFile(element, isEncoded));
  const next = xmlText(xml, "IsTruncated") === "true" ? xmlText(xml, "NextContinuationToken") : undefined;
  return { files, next };
}

function toFile(xml: string, isEncoded: boolean): RemoteFile {
  const key = xmlText(xml, "Key") ?? "";
  const changedMs = Date.parse(xmlText(xml, "LastModified") ?? "");
  const size = xmlText(xml, "Size") ?? "";
  return {
    key: isEncoded ? decodeName(key.replaceAll("+", " ")) : key,
    bytes: /^\d+$/.test(size) ? Number(size) : undefined,
    etag: xmlText(xml, "ETag") ?? "",
    ...(Number.isFinite(changedMs) && { changedMs }),
  };
}
