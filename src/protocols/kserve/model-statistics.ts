import { ServingError } from "../../errors.ts";
import type { InferenceService, ModelRef, NamedStatistics } from "../../serving/inference-service.ts";
import { type PlaceStatistics, preparationTimes } from "../../serving/servable-statistics.ts";
import { modelNotFound } from "./model-ref.ts";

/** Content of ModelStatistics and `GET /v2/models/NAME/stats`, with the field names of inference.ModelStatistics. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly last_inference: number;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, Duration>>;
  readonly batch_stats: readonly BatchStatistics[];
  /** Parts of answers by their numbers from 0 on; empty if there were none. */
  readonly response_stats: Readonly<Record<string, ResponseStatistics>>;
}

/** A number of events and their time, in nanoseconds, together. */
interface Duration {
  readonly count: number;
  readonly ns: number;
}

interface BatchStatistics {
  readonly batch_size: number;
  readonly compute_input: Duration;
  readonly compute_infer: Duration;
  readonly compute_output: Duration;
}

/** The statistics of the parts of one number, with the field names of inference.InferResponseStatistics. */
interface ResponseStatistics {
  readonly compute_infer: Duration;
  readonly compute_output: Duration;
  readonly success: Duration;
  readonly fail: Duration;
  /** Answers that ended with so many parts before. */
  readonly empty_response: Duration;
  readonly cancel: Duration;
}

const NOTHING: Duration = { count: 0, ns: 0 };

/**
 * The statistics of one model, of one version of it, or of all (an empty name). Throws `not_found` for an unknown one.
 */
export async function modelStatistics(service: InferenceService, ref: ModelRef): Promise<ModelStatistics[]> {
  const { version } = ref;
  const model = service.nameOf?.(ref.model) ?? ref.model;
  const all = await service.statistics();
  const isMeant = (one: NamedStatistics) =>
    (model === "" || one.model === model) && (version === undefined || one.version === version);
  const found = all.filter(isMeant);
  if (found.length > 0 || model === "") return found.map(toModelStatistics);
  if (service.index().length === 0) {
    throw new ServingError("unimplemented", "This is a proxy; ask the server behind it for statistics.");
  }
  throw modelNotFound(ref, service);
}

function toModelStatistics(statistics: NamedStatistics): ModelStatistics {
  const { model, version, requests, runs } = statistics;
  const { succeeded, failed, lastRequest } = requests;
  const { inputMs, outputMs } = preparationTimes(statistics);
  // perf_analyzer finds a version by its count in the queue, also if hooks answer without a model.
  const answered = Math.max(runs.requests, succeeded.count);
  return {
    name: model,
    version: String(version),
    last_inference: lastRequest,
    inference_count: runs.runs.reduce((sum, { rows, count }) => sum + rows * count, 0),
    execution_count: runs.runs.reduce((sum, { count }) => sum + count, 0),
    inference_stats: {
      success: toDuration(succeeded.count, succeeded.ms),
      fail: toDuration(failed.count, failed.ms),
      queue: toDuration(answered, runs.queueMs),
      compute_input: toDuration(answered, inputMs),
      compute_infer: toDuration(answered, runs.runMs),
      compute_output: toDuration(answered, outputMs),
      cache_hit: NOTHING,
      cache_miss: NOTHING,
    },
    batch_stats: runs.runs.map(({ rows, count, ms }) => ({
      batch_size: rows,
      compute_input: toDuration(count, 0),
      compute_infer: toDuration(count, ms),
      compute_output: toDuration(count, 0),
    })),
    response_stats: Object.fromEntries(
      (requests.parts?.places ?? []).map((place, index) => [index, toResponse(place)]),
    ),
  };
}

function toResponse({ made, sent, succeeded, failed, empty, cancelled }: PlaceStatistics): ResponseStatistics {
  return {
    compute_infer: toDuration(made.count, made.ms),
    compute_output: toDuration(sent.count, sent.ms),
    success: toDuration(succeeded.count, succeeded.ms),
    fail: toDuration(failed.count, failed.ms),
    empty_response: toDuration(empty.count, empty.ms),
    cancel: toDuration(cancelled.count, cancelled.ms),
  };
}

function toDuration(count: number, ms: number): Duration {
  return { count, ns: Math.round(ms * 1e6) };
}
