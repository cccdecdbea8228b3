import { onTestFinished } from "vitest";
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from "../../src/grpc/grpc-server.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
  ModelRef,
  NamedStatistics,
  ServableDescription,
  ServableState,
} from "../../src/serving/inference-service.ts";

/** What a {@link ScriptedService} does with a request. */
export type Script = (request: InferRequest) => Promise<InferResponse> | InferResponse;

/** A service whose answers and readiness a test chooses. */
export class ScriptedService implements InferenceService {
  /** What the wire handed over, oldest first. */
  readonly requests: InferRequest[] = [];
  /** Who listens to its readiness. */
  readonly listeners = new Set<(ready: boolean) => void>();
  readonly #script: Script;
  #ready = true;

  constructor(script: Script = echo) {
    this.#script = script;
  }

  async describe({ model, version = 1n }: ModelRef): Promise<ServableDescription> {
    return { model, version, drivers: ["null"], signatures: {} };
  }

  index(): readonly ServableState[] {
    return [{ model: "default", version: 1n, isReady: this.#ready, unavailableReason: "" }];
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    return [];
  }

  async load(): Promise<void> {}

  async unload(): Promise<void> {}

  async infer(request: InferRequest): Promise<InferResponse> {
    this.requests.push(request);
    return this.#script(request);
  }

  isReady(): boolean {
    return this.#ready;
  }

  setReady(ready: boolean): void {
    this.#ready = ready;
    for (const listener of this.listeners) listener(ready);
  }

  onReadiness(listener: (ready: boolean) => void): () => void {
    this.listeners.add(listener);
    listener(this.#ready);
    return () => this.listeners.delete(listener);
  }
}

/** Answers with what came. */
export function echo(request: InferRequest): InferResponse {
  const { model, version = 1n, signature, inputs } = request;
  return { model, version, signature, outputs: inputs, metadata: {} };
}

/** A gRPC server on a free port that closes when the test ends. */
export async function serve(service: InferenceService, options: Partial<GrpcServerOptions> = {}): Promise<GrpcServer> {
  const server = await createGrpcServer(service, {
    host: "127.0.0.1",
    port: 0,
    protocols: PROTOCOLS,
    log: createSilentLogger(),
    ...options,
  });
  onTestFinished(() => server.close(0));
  return server;
}
