import type { Timeline } from "../../observability/timeline.ts";
import type { Made } from "../../pipeline/infer-request.ts";
import type { Payload } from "../../pipeline/payload.ts";
import { payloadFromTensors } from "../../pipeline/payload.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import type { RpcResponse } from "../../platform/threads/rpc-client.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import { isTextRecord } from "../../platform/threads/wire-error.ts";
import { MAX_METADATA, metadataSize } from "../check-response.ts";
import { isStatus } from "../route-entries.ts";
import type { RanMeta } from "./hook-protocol.ts";

/**
 * The result that a hook thread sent for a request of this kind; throws {@link MalformedMessage} for any other message.
 * With a timeline, to which it adds the times that the thread reports, also the error of a request that failed.
 */
export function readHookAnswer(
  kind: Payload["kind"],
  { meta, tensors }: RpcResponse,
  timeline: Timeline | undefined,
): Made {
  if (timeline !== undefined) openTimedAnswer((meta as Partial<RanMeta> | undefined)?.timed, timeline);
  const outputs = payloadFromTensors(kind, tensors);
  if (outputs.kind === "json" && !(outputs.json instanceof Uint8Array)) throw new MalformedMessage("it has no JSON");
  if (meta === undefined) return { outputs };
  const { metadata, contentType, status } = (meta ?? {}) as { [Key in keyof RanMeta]?: unknown };
  if (!isTextRecord(metadata)) throw new MalformedMessage("its metadata are not texts");
  if (metadataSize(metadata) > MAX_METADATA) throw new MalformedMessage("its metadata are longer than headers are");
  if (contentType === undefined) return { metadata, outputs };
  if (typeof contentType !== "string") throw new MalformedMessage("its content type is not a text");
  if (status === undefined) return { metadata, contentType, outputs };
  if (!isStatus(status)) throw new MalformedMessage("its status is not one of HTTP");
  return { metadata, contentType, status, outputs };
}
