import type { SingleRequest } from "../../src/serving/infer-once.ts";
import { echo, ScriptedService } from "../grpc/scripted-service.ts";

/** A service whose requests wait until the test lets them go. */
export class GatedService extends ScriptedService {
  release = () => {};
  #enter: (request: SingleRequest) => void = () => {};
  /** The first request, once it is there. */
  readonly entered = new Promise<SingleRequest>((resolve) => {
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
