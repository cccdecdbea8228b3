import { createModelClient, type ModelClient } from "../model-host/threads/model-client.ts";
import { toHostPort } from "../threads/host-port.ts";
import type { ModelConnection } from "./hook-protocol.ts";

/** Creates the handle of a model from the connections that the main thread sent. */
export function toModelClient({ facts, hookArgs, ports }: ModelConnection): ModelClient {
  return createModelClient({ facts, hookArgs, ports: ports.map((port) => toHostPort(port)) });
}
