import { networkOf, plainAddress } from "../../access/network-address.ts";
import { ServingError } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { GrpcRoutes, StreamExchange, StreamMethod, StreamRoute, UnaryMethod } from "../../grpc/grpc-route.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { bytesTag, MAP_ENTRY, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  encodeMessage,
  integerField,
  messageField,
  textElement,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import type { Protocol } from "../protocol.ts";
import { createReflection } from "./reflection.ts";

/** "" = the whole server; the last two are the names that TensorFlow Serving's own health service uses. */
const NAMES: readonly string[] = [
  "",
  "tensorflow.serving.PredictionService",
  "tensorflow.serving.ModelService",
  "tensorflow.serving.SessionService",
  "inference.GRPCInferenceService",
  "PredictionService",
  "ModelService",
];

/** Open streams of Watch of one client, by its address or its network of IPv6, and of all. */
export const MAX_OF_CLIENT = 1000;
const MAX_WATCHERS = 10_000;
/** Changes that wait for a client to read. */
const MAX_UNSENT = 2;
/** Time for clients to read the last status and the end of the stream, in milliseconds. */
const LAST_READ_MS = 1000;

/** The service grpc.health.v1.Health, which reports if the server is ready. */
export const grpcHealth: Protocol = {
  name: "grpc-health",
  grpc: (service) => {
    const health = new HealthService(service);
    return { routes: health.routes, shutDown: () => health.shutDown() };
  },
};

const REFLECTION_PATHS = ["v1", "v1alpha"].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/**
 * Server reflection, v1 and v1alpha, so that grpcurl, buf curl and Postman need no .proto files.
 * The descriptors are read with the first call.
 */
export const grpcReflection: Protocol = {
  name: "grpc-reflection",
  grpc: () => {
    let method: StreamMethod | undefined;
    const stream: StreamMethod = (exchange) => {
      method ??= createReflection();
      return method(exchange);
    };
    const route: StreamRoute = { kind: "read", stream, maxBytes: SMALL_REQUEST_BYTES };
    return { routes: Object.fromEntries(REFLECTION_PATHS.map((path) => [path, route])) };
  },
};

class HealthService {
  readonly routes: GrpcRoutes;
  #status: HealthStatus = HEALTH_STATUS.notServing;
  #isShutDown = false;
  readonly #watchers = new Watchers();
  readonly #stopListening: () => void;

  constructor(service: InferenceService) {
    this.#stopListening = service.onReadiness((ready) =>
      this.#change(ready ? HEALTH_STATUS.serving : HEALTH_STATUS.notServing),
    );
    const maxBytes = SMALL_REQUEST_BYTES;
    this.routes = {
      "/grpc.health.v1.Health/Check": { kind: "health", method: this.#check, maxBytes },
      "/grpc.health.v1.Health/List": { kind: "health", method: this.#list, maxBytes },
      "/grpc.health.v1.Health/Watch": { kind: "health", stream: (exchange) => this.#watch(exchange), maxBytes },
    };
  }

  /** Reports NOT_SERVING from now on, and ends the watchers' streams, which would delay the end of the server. */
  shutDown(): void {
    this.#stopListening();
    this.#isShutDown = true;
    this.#change(HEALTH_STATUS.notServing);
    const watchers = [...this.#watchers.all];
    for (const { wake } of watchers) wake();
    // Those that read nothing would keep the server until its last limit.
    setTimeout(() => {
      for (const { cut } of watchers) cut();
    }, LAST_READ_MS).unref();
  }

  #change(next: HealthStatus): void {
    if (next === this.#status) return;
    this.#status = next;
    for (const watcher of this.#watchers.all) {
      // What was unread for two changes is what it was.
      if (watcher.unsent.length === MAX_UNSENT) watcher.unsent.pop();
      else if (watcher.isKnown) watcher.unsent.push(next);
      watcher.wake();
    }
  }

  readonly #check: UnaryMethod = async (message) => {
    const name = decodeHealthRequest(message);
    if (!NAMES.includes(name))
      throw new ServingError("not_found", `There is no service "${name}"; ask for "", which is the whole server.`);
    return { message: frameBytes(encodeHealthResponse(this.#status)) };
  };

  readonly #list: UnaryMethod = async () => ({ message: frameBytes(encodeHealthList(NAMES, this.#status)) });

  /** Sends the status immediately and at each change, until the client leaves or the server shuts down. */
  async #watch(exchange: StreamExchange): Promise<void> {
    const isKnown = NAMES.includes(decodeHealthRequest(await firstOf(exchange.messages)));
    const unsent = [isKnown ? this.#status : HEALTH_STATUS.serviceUnknown];
    const watcher: Watcher = { isKnown, unsent, wake: () => {}, cut: exchange.cut };
    const remove = this.#watchers.add(watcher, exchange.peer);
    exchange.signal.addEventListener("abort", () => watcher.wake());
    try {
      while (!exchange.signal.aborted) {
        const status = watcher.unsent.shift();
        if (status !== undefined) await exchange.write(frameBytes(encodeHealthResponse(status)));
        else if (this.#isShutDown) throw new ServingError("unavailable", "The server is shutting down.");
        else await woken(watcher);
      }
    } finally {
      remove();
    }
  }
}

/** An open stream of statuses. */
interface Watcher {
  /** True for a service that exists; the status of others never changes. */
  readonly isKnown: boolean;
  readonly unsent: HealthStatus[];
  /** Called at each change, and when the stream is to end. */
  wake: () => void;
  /** Resets the stream. */
  readonly cut: () => void;
}

/** The open streams, of which each client may have some. */
class Watchers {
  readonly all = new Set<Watcher>();
  readonly #counts = new Map<string, number>();

  /** Returns how to remove it; throws `resource_exhausted` if there are too many. */
  add(watcher: Watcher, peer = ""): () => void {
    const client = networkOf(plainAddress(peer.replace(/^ipv[46]:/, "")) ?? peer);
    const count = this.#counts.get(client) ?? 0;
    if (count >= MAX_OF_CLIENT || this.all.size >= MAX_WATCHERS)
      throw new ServingError("resource_exhausted", "There are too many streams of Watch; ask Check instead.");
    this.#counts.set(client, count + 1);
    this.all.add(watcher);
    return () => {
      this.all.delete(watcher);
      const left = (this.#counts.get(client) as number) - 1;
      if (left > 0) this.#counts.set(client, left);
      else this.#counts.delete(client);
    };
  }
}

function woken(watcher: Watcher): Promise<void> {
  return new Promise((resolve) => {
    watcher.wake = resolve;
  });
}

async function firstOf(messages: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  for await (const message of messages) return message;
  throw new ServingError("unimplemented", "Received no request message");
}

/** Numbers of ServingStatus. */
const HEALTH_STATUS = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
type HealthStatus = (typeof HEALTH_STATUS)[keyof typeof HEALTH_STATUS];

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
function encodeHealthResponse(status: HealthStatus): Buffer {
  return encodeMessage(statusParts(status));
}

/** A HealthListResponse in which every name has the same status. */
function encodeHealthList(names: readonly string[], status: HealthStatus): Buffer {
  const value = messageField(MAP_ENTRY.value, statusParts(status));
  return encodeMessage(names.map((name) => messageField(STATUSES, [textElement(MAP_ENTRY.key, name), value])));
}

function statusParts(status: HealthStatus): WirePart[] {
  return [integerField(STATUS, status)];
}
