import { GrpcSender } from "./grpc-sender.ts";
import { HttpSender } from "./http-sender.ts";
import type { LoadTarget } from "./load-job.ts";
import type { Sender } from "./sender.ts";

/** Creates the sender of a target's protocol; it connects with the first request. */
export function createSender(target: LoadTarget): Sender {
  return target.protocol === "grpc" ? new GrpcSender(target) : new HttpSender(target);
}
