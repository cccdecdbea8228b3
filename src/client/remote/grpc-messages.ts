import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { type ErrorCode, type ErrorDetail, fromGrpcStatus, ServingError } from "../../errors.ts";
import { decodeStatusDetails, STATUS_DETAILS } from "../../grpc/grpc-status.ts";
import { isSendable, splitBinary } from "../../grpc/metadata-headers.ts";
import type { CallOptions } from "../../serving/inference-service.ts";
import { createRecord } from "../../tensor/record.ts";

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

/**
 * The error that a failed call of another server stands for: that server's own text
 * if it answered, else a plain sentence, since what the transport says has addresses
 * in it. The cause has all of it. `hasHeaders` says whether the server sent any.
 */
export function fromServiceError(error: ServiceError, hasHeaders: boolean): ServingError {
  const code = fromGrpcStatus(error.code);
  const text = hasHeaders || isTrailersOnly(error) ? error.details || error.message : TRANSPORT_TEXTS[code];
  const message = text ?? "The call of the server behind this one failed.";
  return new ServingError(code, message, { cause: error, details: detailsOf(error) });
}

/** Details of a server's error besides its text; undefined if it sends none that can be read. */
export function detailsOf({ metadata }: ServiceError): readonly ErrorDetail[] | undefined {
  const [encoded] = metadata.get(STATUS_DETAILS);
  return Buffer.isBuffer(encoded) ? decodeStatusDetails(encoded) : undefined;
}

/** Says that there is no server, or none any more. */
export const UNREACHABLE = "The server behind this one cannot be reached, or its connection was lost; try again later.";

const LATE = "The request's deadline passed.";

const TRANSPORT_TEXTS: Partial<Record<ErrorCode, string>> = {
  unavailable: UNREACHABLE,
  deadline_exceeded: LATE,
};

/** Throws the error of a call whose time is up, which the other server may have told first, in other words. */
export function assertInTime({ limits }: Pick<CallOptions, "limits">, cause: unknown): void {
  const { deadline = Number.POSITIVE_INFINITY } = limits ?? {};
  if (Date.now() >= deadline) throw new ServingError("deadline_exceeded", LATE, { cause });
}

/** Checks if a server sent only a status. */
function isTrailersOnly({ metadata }: ServiceError): boolean {
  return metadata.get("content-type").length > 0;
}
