import { defineJob } from "../../../platform/codec-host/job.ts";
import { MANY_ELEMENTS } from "../../../platform/codec-host/large-message.ts";
import {
  bytesField,
  encodeMessage,
  floatField,
  messageField,
  type WirePart,
} from "../../../tensor/codecs/protobuf/wire-writer.ts";
import { type ModelSpec, modelSpecParts } from "../model-spec.ts";
import {
  CLASS,
  CLASSES,
  CLASSIFICATIONS,
  INFERENCE_RESULT,
  REGRESSION_VALUE,
  REGRESSIONS,
  RESPONSE,
  RESULTS,
} from "./result-fields.ts";
import type { Classifications, ExampleResult, Regressions } from "./results.ts";

/** The result of one task, and the model that gave it. */
export interface TaskResult {
  readonly spec: ModelSpec;
  readonly result: ExampleResult;
}

/** A ClassificationResponse or RegressionResponse. */
export function encodeResult({ spec, result }: TaskResult): Buffer {
  return encodeMessage([
    messageField(RESPONSE.result, resultParts(result)),
    messageField(RESPONSE.modelSpec, modelSpecParts(spec)),
  ]);
}

/** A MultiInferenceResponse. */
export function encodeResults(results: readonly TaskResult[]): Buffer {
  return encodeMessage(
    results.map(({ spec, result }) =>
      messageField(RESULTS, [
        messageField(INFERENCE_RESULT.modelSpec, modelSpecParts(spec)),
        messageField(INFERENCE_RESULT[result.kind], resultParts(result)),
      ]),
    ),
  );
}

/** {@link encodeResult} and {@link encodeResults} for a codec thread. */
export const encodeResultJob = defineJob(import.meta.url, "encodeResultJob", encodeResult);
export const encodeResultsJob = defineJob(import.meta.url, "encodeResultsJob", encodeResults);

/** Checks if writing results is work for a codec thread. */
export function isLargeResult(result: ExampleResult): boolean {
  return (result.kind === "classify" ? result.rows * result.columns : result.values.length) > MANY_ELEMENTS;
}

function resultParts(result: ExampleResult): WirePart[] {
  return result.kind === "classify" ? classificationParts(result) : regressionParts(result);
}

function classificationParts({ rows, columns, labels, scores }: Classifications): WirePart[] {
  return Array.from({ length: rows }, (_, row) => {
    const classes = Array.from({ length: columns }, (_, column) => {
      const index = row * columns + column;
      const label = labels?.[index];
      return messageField(CLASSES, [
        ...(label === undefined || label.length === 0 ? [] : [bytesField(CLASS.label, label)]),
        floatField(CLASS.score, scores?.[index] ?? 0),
      ]);
    });
    return messageField(CLASSIFICATIONS, classes);
  });
}

function regressionParts({ values }: Regressions): WirePart[] {
  return Array.from(values, (value) => messageField(REGRESSIONS, [floatField(REGRESSION_VALUE, value)]));
}
