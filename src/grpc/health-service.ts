import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Server,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
} from "@grpc/grpc-js";
import type { PackageDefinition } from "@grpc/proto-loader";
import type { InferenceService } from "../serving/inference-service.ts";
import { PREDICTION_SERVICE } from "./tensorflow-service.ts";

/** "" = the whole server; the last one is the name that TensorFlow Serving's own health service uses. */
const NAMES: readonly string[] = ["", PREDICTION_SERVICE, "PredictionService"];

type ServingStatus = "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";
interface HealthRequest {
  readonly service: string;
}
interface HealthAnswer {
  readonly status: ServingStatus;
}
type Watcher = ServerWritableStream<HealthRequest, HealthAnswer>;

/** grpc.health.v1 of a server. */
export interface HealthService {
  addTo(server: Server, descriptors: PackageDefinition): void;
  /** From now on NOT_SERVING; tells the watchers and ends their streams, which would keep the server from draining. */
  shutDown(): void;
}

/** A health service that says SERVING while `service` is ready. */
export function createHealthService(service: InferenceService): HealthService {
  const watchers = new Set<Watcher>();
  let current: ServingStatus = "NOT_SERVING";
  const statusOf = (name: string) => (NAMES.includes(name) ? current : "SERVICE_UNKNOWN");
  const change = (next: ServingStatus) => {
    if (next === current) return;
    current = next;
    for (const watcher of watchers) watcher.write({ status: current });
  };
  const stopListening = service.onReadiness((ready) => change(ready ? "SERVING" : "NOT_SERVING"));
  return {
    addTo(server, descriptors) {
      const definition = descriptors["grpc.health.v1.Health"] as ServiceDefinition;
      server.addService(definition, {
        Check: checkHandler(statusOf),
        List: listHandler(statusOf),
        Watch: watchHandler(statusOf, watchers),
      });
    },
    shutDown() {
      stopListening();
      change("NOT_SERVING");
      for (const watcher of watchers) watcher.emit("error", { code: status.UNAVAILABLE, details: "Shutting down." });
    },
  };
}

type StatusOf = (name: string) => ServingStatus;

function checkHandler(statusOf: StatusOf): handleUnaryCall<HealthRequest, HealthAnswer> {
  return ({ request }, respond) => {
    const found = statusOf(request.service);
    if (found !== "SERVICE_UNKNOWN") respond(null, { status: found });
    else respond({ code: status.NOT_FOUND, details: `Unknown service "${request.service}".` });
  };
}

function listHandler(statusOf: StatusOf): handleUnaryCall<unknown, { statuses: Record<string, HealthAnswer> }> {
  return (_call, respond) => {
    const statuses = Object.fromEntries(NAMES.map((name) => [name, { status: statusOf(name) }]));
    respond(null, { statuses });
  };
}

function watchHandler(
  statusOf: StatusOf,
  watchers: Set<Watcher>,
): handleServerStreamingCall<HealthRequest, HealthAnswer> {
  return (call) => {
    // Watchers of unknown names are kept open, as the protocol asks, but have nothing to hear.
    if (NAMES.includes(call.request.service)) watchers.add(call);
    call.on("cancelled", () => watchers.delete(call));
    call.write({ status: statusOf(call.request.service) });
  };
}
