import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type Server,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
} from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { byteMethod } from "../../grpc/byte-method.ts";
import { toGrpcStatus } from "../../grpc/grpc-errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { PREDICTION_SERVICE } from "../tensorflow-serving/grpc-service.ts";
import {
  decodeHealthRequest,
  encodeHealthList,
  encodeHealthResponse,
  HEALTH_STATUS,
  type HealthStatus,
} from "./health-codec.ts";

const DEFINITION: ServiceDefinition = {
  Check: byteMethod("/grpc.health.v1.Health/Check"),
  List: byteMethod("/grpc.health.v1.Health/List"),
  Watch: byteMethod("/grpc.health.v1.Health/Watch", "serverStream"),
};

/** "" = the whole server; the last one is the name that TensorFlow Serving's own health service uses. */
const NAMES: readonly string[] = ["", PREDICTION_SERVICE, "PredictionService"];

/** Tells clients by grpc.health.v1 whether a service is ready. */
export class HealthService {
  #status: HealthStatus = HEALTH_STATUS.notServing;
  /** Open streams; false for those of unknown names, which have nothing to hear. */
  readonly #watchers = new Map<ServerWritableStream<Buffer, Buffer>, boolean>();
  readonly #stopListening: () => void;

  constructor(service: InferenceService) {
    this.#stopListening = service.onReadiness((ready) =>
      this.#change(ready ? HEALTH_STATUS.serving : HEALTH_STATUS.notServing),
    );
  }

  addTo(server: Server): void {
    server.addService(DEFINITION, { Check: this.#check, List: this.#list, Watch: this.#watch });
  }

  /** From now on NOT_SERVING; tells the watchers and ends their streams, which would keep the server from draining. */
  shutDown(): void {
    this.#stopListening();
    this.#change(HEALTH_STATUS.notServing);
    const ending = { code: status.UNAVAILABLE, details: "The server is shutting down." };
    for (const watcher of this.#watchers.keys()) watcher.emit("error", ending);
  }

  #change(next: HealthStatus): void {
    if (next === this.#status) return;
    this.#status = next;
    for (const [watcher, isKnown] of this.#watchers) if (isKnown) watcher.write(encodeHealthResponse(next));
  }

  readonly #check: handleUnaryCall<Buffer, Buffer> = ({ request }, respond) => {
    try {
      const name = decodeHealthRequest(request);
      if (!NAMES.includes(name)) throw new ServingError("not_found", `There is no service "${name}".`);
      respond(null, encodeHealthResponse(this.#status));
    } catch (reason) {
      respond(toGrpcStatus(reason));
    }
  };

  readonly #list: handleUnaryCall<Buffer, Buffer> = (_call, respond) =>
    respond(null, encodeHealthList(NAMES, this.#status));

  readonly #watch: handleServerStreamingCall<Buffer, Buffer> = (call) => {
    try {
      const isKnown = NAMES.includes(decodeHealthRequest(call.request));
      call.write(encodeHealthResponse(isKnown ? this.#status : HEALTH_STATUS.serviceUnknown));
      this.#watchers.set(call, isKnown);
      call.on("cancelled", () => this.#watchers.delete(call));
    } catch (reason) {
      call.emit("error", toGrpcStatus(reason));
    }
  };
}
