import { onTestFinished } from "vitest";
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from "../../src/grpc/grpc-server.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import type { CallLimits } from "../../src/platform/limits/call-limits.ts";
import { type SettingOptions, sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type {
  CallOptions,
  InferenceService,
  InferRequest,
  InferResponse,
  Lease,
  ModelRef,
  NamedStatistics,
  PartSink,
  ServableState,
} from "../../src/serving/inference-service.ts";
import type { ServableDescription } from "../../src/serving/servable-description.ts";

/** A request as tests read it: all parts beside each other. */
export type ScriptedRequest = ModelRef &
  CallOptions &
  CallLimits &
  Pick<InferRequest, "inputs" | "outputs"> & { readonly sink?: PartSink } & { readonly signature: string };

/** Answer of a {@link ScriptedService} to a request. */
export type Script = (request: ScriptedRequest) => Promise<InferResponse> | InferResponse;

/** A service whose answers and readiness a test chooses. */
export class ScriptedService implements InferenceService {
  /** Requests of the transport, oldest first. */
  readonly requests: ScriptedRequest[] = [];
  /** Leases that were not released, and all there ever were. */
  leases = 0;
  acquired = 0;
  /** Listeners to its readiness. */
  readonly listeners = new Set<(ready: boolean) => void>();
  readonly #script: Script;
  #ready = true;

  constructor(script: Script = echo) {
    this.#script = script;
  }

  describe({ model, version = 1n }: ModelRef): ServableDescription {
    return { model, version, drivers: ["null"], signatures: {} };
  }

  acquire(ref: ModelRef): Lease {
    this.leases++;
    this.acquired++;
    return {
      description: this.describe(ref),
      infer: async ({ signature, inputs, outputs, parts, call }) => {
        const own = { ...ref, ...call, ...call.limits, signature: signature.name, inputs, outputs };
        const request = parts === undefined ? own : { ...own, sink: parts };
        this.requests.push(request);
        return this.#script(request);
      },
      release: () => {
        this.leases--;
      },
    };
  }

  index(): readonly ServableState[] {
    const version = { model: "default", version: 1n, generation: 1, labels: [] };
    const status = { ...version, state: "AVAILABLE", error: undefined } as const;
    return [{ ...status, isReady: this.#ready, unavailableReason: "" }];
  }

  async statistics(): Promise<readonly NamedStatistics[]> {
    return [];
  }

  async load(): Promise<void> {}

  async unload(): Promise<void> {}

  async reconfigure(): Promise<void> {}

  async rescan(): Promise<void> {}

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
export function echo(request: ScriptedRequest): InferResponse {
  const { model, version = 1n, signature, inputs } = request;
  return { model, version, signature, outputs: inputs, metadata: {} };
}

/** Options of a gRPC server, with settings beside them. */
export type GrpcOptions = Partial<GrpcServerOptions> & Omit<SettingOptions, keyof GrpcServerOptions>;

/** A gRPC server on a free port that closes when the test ends. */
export async function serve(service: InferenceService, options: GrpcOptions = {}): Promise<GrpcServer> {
  const server = await createGrpcServer(service, {
    host: "127.0.0.1",
    port: 0,
    protocols: PROTOCOLS,
    settings: sliceSettings(options as SettingOptions),
    log: createSilentLogger(),
    ...options,
  });
  onTestFinished(() => server.close(0));
  return server;
}
