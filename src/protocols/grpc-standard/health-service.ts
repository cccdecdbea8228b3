import { ServingError } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { CreateGrpcProtocol, GrpcRoutes, StreamExchange, UnaryMethod } from "../../grpc/grpc-route.ts";
import { SMALL_REQUEST_BYTES } from "../../limits/small-request.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import {
  decodeHealthRequest,
  encodeHealthList,
  encodeHealthResponse,
  HEALTH_STATUS,
  type HealthStatus,
} from "./health-codec.ts";

/** "" = the whole server; the last two are the names that TensorFlow Serving's own health service uses. */
const NAMES: readonly string[] = [
  "",
  "tensorflow.serving.PredictionService",
  "tensorflow.serving.ModelService",
  "PredictionService",
  "ModelService",
];

/** The service grpc.health.v1.Health, which reports whether the server is ready. */
export const createHealthGrpc: CreateGrpcProtocol = (service) => {
  const health = new HealthService(service);
  return { routes: health.routes, shutDown: () => health.shutDown() };
};

class HealthService {
  readonly routes: GrpcRoutes;
  #status: HealthStatus = HEALTH_STATUS.notServing;
  #isShutDown = false;
  /** The open streams. */
  readonly #watchers = new Set<Watcher>();
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
    for (const { wake } of this.#watchers) wake();
  }

  #change(next: HealthStatus): void {
    if (next === this.#status) return;
    this.#status = next;
    for (const watcher of this.#watchers) {
      if (watcher.isKnown) watcher.unsent.push(next);
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
    const watcher: Watcher = { isKnown, unsent, wake: () => {} };
    this.#watchers.add(watcher);
    exchange.signal.addEventListener("abort", () => watcher.wake());
    try {
      while (!exchange.signal.aborted) {
        const status = watcher.unsent.shift();
        if (status !== undefined) await exchange.write(frameBytes(encodeHealthResponse(status)));
        else if (this.#isShutDown) throw new ServingError("unavailable", "The server is shutting down.");
        else await woken(watcher);
      }
    } finally {
      this.#watchers.delete(watcher);
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
