import type { InferRequest } from "../../src/serving/inference-service.ts";
import { echo, ScriptedService } from "../grpc/scripted-service.ts";

/** A service whose requests wait until the test lets them go. */
export class GatedService extends ScriptedService {
  release = () => {};
  #enter: (request: InferRequest) => void = () => {};
  /** The first request, once it is there. */
  readonly entered = new Promise<InferRequest>((resolve) => {
    this.#enter = resolve;
  });

  constructor() {
    super(async (request) => {
      this.#enter(request);
      await new Promise<void>((resolve) => {
        this.release = resolve;
      });
      return echo(request);
    });
  }
}
