import { Metadata } from "@grpc/grpc-js";
import { isSendable, splitBinary } from "../grpc/metadata-headers.ts";
import { createRecord } from "../tensor/record.ts";

/**
 * Metadata as text by lower-case name: several values of one name joined with a comma,
 * values of `-bin` names in base64.
 */
export function fromMetadata(metadata: Metadata): Record<string, string> {
  const record = createRecord<string>();
  for (const key of Object.keys(metadata.getMap())) {
    record[key] = metadata.get(key).map(toText).join(", ");
  }
  return record;
}

/** The reverse of {@link fromMetadata}. Leaves out what gRPC forbids or sets itself. */
export function toMetadata(record: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(record)) {
    if (isSendable(key.toLowerCase())) addIfLegal(metadata, key, value);
  }
  return metadata;
}

/** A server's own metadata, without the entries that gRPC and HTTP/2 added. */
export function withoutTransport(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => isSendable(key)));
}

function addIfLegal(metadata: Metadata, key: string, value: string): void {
  try {
    const values = key.toLowerCase().endsWith("-bin") ? splitBinary(value) : [value];
    metadata.remove(key);
    for (const each of values) metadata.add(key, each);
  } catch {
    // A hook's header that HTTP/2 cannot carry (a line break, a letter outside ASCII) must not cost the whole answer.
  }
}

function toText(value: string | Buffer): string {
  return typeof value === "string" ? value : value.toString("base64");
}
