import type { Logger } from "../observability/logger.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import { newSpanId, newTraceId, parentOf } from "../observability/trace-context.ts";
import { requestSpans } from "./request-spans.ts";
import { readSampler } from "./sampler.ts";
import { type Environment, readTracingSettings } from "./settings.ts";
import { SpanExporter } from "./span-exporter.ts";

/** Traces of requests, sent to a collector of OpenTelemetry. */
export interface Tracing extends RequestTracer {
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/**
 * Begins to record traces as OpenTelemetry's variables say. `shared`: the memory of another thread's sampling. Throws
 * `failed_precondition` for values that cannot be.
 */
export function createTracing(env: Environment, log: Logger, shared?: SharedArrayBuffer): Tracing {
  const settings = readTracingSettings(env);
  const sampler = readSampler(env, shared);
  const exporter = new SpanExporter(settings, log);
  if (shared === undefined) log.info("traces are sent", { collector: settings.url.host });
  return {
    sampling: sampler,
    begin: (metadata) => {
      const parent = parentOf(metadata);
      const traceId = parent?.traceId ?? newTraceId();
      if (!sampler.chooses(traceId, parent)) return undefined;
      const span = { traceId, spanId: newSpanId(), state: parent?.state, isRandom: parent?.isRandom ?? true };
      return { span, parentId: parent?.spanId, take: () => sampler.take() };
    },
    over: (record, trace, outcome) => exporter.add(requestSpans(record, trace, outcome)),
    close: () => exporter.close(),
  };
}
