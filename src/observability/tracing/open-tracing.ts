import type { Logger } from "../logger.ts";
import type { Environment } from "./settings.ts";
import type { Tracing } from "./tracing.ts";

/**
 * Begins to record traces if OpenTelemetry's variables name a collector; undefined if they name none, and nothing
 * is imported then. Throws `failed_precondition`, naming the variable, for a value that cannot be. `shared`: the memory
 * of another thread's sampling.
 */
export async function openTracing(
  env: Environment,
  log: Logger,
  shared?: SharedArrayBuffer,
): Promise<Tracing | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none";
  if (!endpoint || isOff) return undefined;
  const { createTracing } = await import("./tracing.ts");
  return createTracing(env, log, shared);
}
