import { bytesTag, MAP_ENTRY, WireReader } from "../../codecs/protobuf/wire-reader.ts";
import {
  encodeMessage,
  integerField,
  messageField,
  textElement,
  type WirePart,
} from "../../codecs/protobuf/wire-writer.ts";

/** Numbers of grpc.health.v1.HealthCheckResponse.ServingStatus. */
export const HEALTH_STATUS = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
/** One of {@link HEALTH_STATUS}. */
export type HealthStatus = (typeof HEALTH_STATUS)[keyof typeof HEALTH_STATUS];

const SERVICE = 1;
const STATUS = 1;
const STATUSES = 1;

/** The service name of a HealthCheckRequest. */
export function decodeHealthRequest(bytes: Uint8Array): string {
  const reader = new WireReader(bytes, "HealthCheckRequest");
  let service = "";
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === bytesTag(SERVICE)) service = reader.text();
    else reader.skip(tag);
  }
  return service;
}

/** A HealthCheckResponse. */
export function encodeHealthResponse(status: HealthStatus): Buffer {
  return encodeMessage(statusParts(status));
}

/** A HealthListResponse in which every name has the same status. */
export function encodeHealthList(names: readonly string[], status: HealthStatus): Buffer {
  const value = messageField(MAP_ENTRY.value, statusParts(status));
  return encodeMessage(names.map((name) => messageField(STATUSES, [textElement(MAP_ENTRY.key, name), value])));
}

function statusParts(status: HealthStatus): WirePart[] {
  return [integerField(STATUS, status)];
}
