import { AccessError, type AnswerHeaders } from "../access/access-error.ts";
import { type ErrorDetail, isErrorDetails, ServingError, STATUS } from "../errors.ts";
import { cutText } from "../platform/text/cut-text.ts";
import { retryDelayMs } from "../retry-info.ts";
import { WIRE, WireReader } from "../tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textField,
} from "../tensor/codecs/protobuf/wire-writer.ts";

/** An error as a client sees it: one of gRPC's status numbers, and a text. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  /** A google.rpc.Status in base64, if the error has machine-readable details. */
  readonly statusDetails?: string | undefined;
  /** Milliseconds after which a client may try again; undefined = it is for the client to say. */
  readonly retryDelayMs?: number | undefined;
  /** Trailers with the ways to authenticate; undefined for errors of other kinds. */
  readonly challenge?: AnswerHeaders;
}

/** The status for any thrown value; causes stay on the server. */
export function toGrpcStatus(reason: unknown): GrpcStatus {
  const { code: name, message, details } = ServingError.from(reason);
  const status = { code: STATUS[name].grpc, details: cutText(message), ...challengeOf(reason) };
  if (!isErrorDetails(details)) return status;
  const statusDetails = encodeStatusDetails({ code: status.code, message: status.details, details });
  return { ...status, statusDetails, retryDelayMs: retryDelayMs(details) };
}

/** As `WWW-Authenticate` of HTTP; gRPC has no form for it. */
function challengeOf(reason: unknown): Pick<GrpcStatus, "challenge"> {
  const challenge = AccessError.headersOf(reason);
  return Object.keys(challenge).length > 0 ? { challenge } : {};
}

/** The header with a `google.rpc.Status`, from which clients read details. */
export const STATUS_DETAILS = "grpc-status-details-bin";

/** Maximum size of the header, in bytes, which any client accepts with its other metadata. */
const MAX_BYTES = 4096;

/** Fields of google.rpc.Status and google.protobuf.Any. */
const FIELDS = { code: 1, message: 2, details: 3 } as const;
const ANY = { type: 1, value: 2 } as const;

interface DetailedStatus {
  readonly code: number;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

/** The value of {@link STATUS_DETAILS}; undefined if it would be too large. */
function encodeStatusDetails({ code, message, details }: DetailedStatus): string | undefined {
  const parts = details.map(({ type, value }) =>
    messageField(FIELDS.details, [textField(ANY.type, type), bytesField(ANY.value, Buffer.from(value, "base64"))]),
  );
  const status = [integerField(FIELDS.code, code), textField(FIELDS.message, message), ...parts];
  const encoded = encodeMessage(status).toString("base64");
  return encoded.length > MAX_BYTES ? undefined : encoded;
}

/** The details in a `google.rpc.Status`; none if it cannot be read. */
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
    if (tag === tagOf(FIELDS.details)) details.push(readAny(reader.nested("google.protobuf.Any")));
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
