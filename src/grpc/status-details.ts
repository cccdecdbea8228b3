import type { ErrorDetail } from "../errors.ts";
import { WIRE, WireReader } from "../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textField,
} from "../tensor/codecs/protobuf/wire-writer.ts";

/** The header with a `google.rpc.Status`, from which clients read details. */
export const STATUS_DETAILS = "grpc-status-details-bin";

/** Maximum size of the header, in bytes, which any client accepts with its other metadata. */
const MAX_BYTES = 4096;

/** Fields of google.rpc.Status and google.protobuf.Any. */
const STATUS = { code: 1, message: 2, details: 3 } as const;
const ANY = { type: 1, value: 2 } as const;

interface DetailedStatus {
  readonly code: number;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

/** The value of {@link STATUS_DETAILS}; undefined where it would be too large. */
export function encodeStatusDetails({ code, message, details }: DetailedStatus): string | undefined {
  const parts = details.map(({ type, value }) =>
    messageField(STATUS.details, [textField(ANY.type, type), bytesField(ANY.value, Buffer.from(value, "base64"))]),
  );
  const status = [integerField(STATUS.code, code), textField(STATUS.message, message), ...parts];
  const encoded = encodeMessage(status).toString("base64");
  return encoded.length > MAX_BYTES ? undefined : encoded;
}

/** The details in a `google.rpc.Status`; none where it cannot be read. */
export function decodeStatusDetails(bytes: Uint8Array): readonly ErrorDetail[] {
  try {
    return readDetails(new WireReader(bytes, "google.rpc.Status"));
  } catch {
    return [];
  }
}

function readDetails(reader: WireReader): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(STATUS.details)) details.push(readAny(reader.nested("google.protobuf.Any")));
    else reader.skip(tag);
  }
  return details;
}

function readAny(reader: WireReader): ErrorDetail {
  let [type, value] = ["", ""];
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(ANY.type)) type = reader.text();
    else if (tag === tagOf(ANY.value)) value = Buffer.from(reader.bytes()).toString("base64");
    else reader.skip(tag);
  }
  return { type, value };
}

function tagOf(field: number): number {
  return field * 8 + WIRE.bytes;
}
