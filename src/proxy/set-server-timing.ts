import type { ServerResponse } from "node:http";
import type { RequestRecord } from "../observability/request-record.ts";
import { SERVER_TIMING, serverTiming } from "../observability/server-timing.ts";

/**
 * Adds the times of a request to its answer, if its client is to get them. A hook's
 * own header of that name takes its place.
 */
export function setServerTiming(response: ServerResponse, record: RequestRecord): void {
  const timing = serverTiming(record);
  if (timing !== undefined) response.setHeader(SERVER_TIMING, timing);
}
