import { ServingError } from "../errors.ts";
import type { InferenceService } from "./inference-service.ts";

/** The service that hooks of this server's own models call; it is there once the server has started. */
export class OwnService {
  #service: InferenceService | undefined;

  /** Throws `unavailable` while the server starts. */
  get service(): InferenceService {
    if (this.#service !== undefined) return this.#service;
    throw new ServingError(
      "unavailable",
      "The server is starting; call its other models in requests, not in init_hook.",
    );
  }

  attach(service: InferenceService): void {
    this.#service = service;
  }
}
