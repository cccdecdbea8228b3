import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { type ModelStatus, modelStatus } from "./model-status.ts";

/** The states of a model's versions, with the members of KServe's V1 protocol. */
interface ReadyStatus extends ModelStatus {
  readonly name: string;
  readonly ready: true;
}

/** The status of a model that is ready. Throws `unavailable` for one that is not, `not_found` for an unknown one. */
export function readyStatus(service: InferenceService, name: string): ReadyStatus {
  const status = statusOf(service, name);
  const own = service.nameOf?.(name) ?? name;
  // One that is available may lack its threads, or another model.
  const isReady = service.index().some((one) => one.model === own && one.state === "AVAILABLE" && one.isReady);
  if (!isReady) throw new ServingError("unavailable", `Model with name ${name} is not ready.`);
  return { name, ready: true, ...status };
}

function statusOf(service: InferenceService, model: string): ModelStatus {
  try {
    return modelStatus(service, { model });
  } catch (cause) {
    throw new ServingError("not_found", `Model with name ${model} does not exist.`, { cause });
  }
}

/**
 * Checks if a request is of KServe's SDK, which calls with httpx. Clients of TensorFlow Serving, and tests of OpenVINO
 * Model Server, parse the same URL's answer as a protobuf message, which bears no further members.
 */
export function isOfKserve({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return /\bhttpx\b/i.test(headers["user-agent"] ?? "");
}
