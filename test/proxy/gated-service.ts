import { echo, type ScriptedRequest, ScriptedService } from "../grpc/scripted-service.ts";

/** A service whose requests wait until the test lets them go. */
export class GatedService extends ScriptedService {
  /** Lets all requests go on. */
  release = () => {};
  #enter: (request: ScriptedRequest) => void = () => {};
  /** The first request, once it is there. */
  readonly entered = new Promise<ScriptedRequest>((resolve) => {
    this.#enter = resolve;
  });

  constructor() {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    super(async (request) => {
      this.#enter(request);
      await released;
      return echo(request);
    });
    this.release = release;
  }
}
