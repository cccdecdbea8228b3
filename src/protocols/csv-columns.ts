import type { InferenceService, ModelRef } from "../serving/inference-service.ts";
import type { CsvColumn } from "../tensor/codecs/csv-to-json-rows.ts";
import type { DType } from "../tensor/dtype.ts";
import { knownInputs, type Signature } from "../tensor/signature/signature.ts";
import { defaultSignature } from "./kserve/model-metadata.ts";
import { describeModel } from "./kserve/model-ref.ts";

/**
 * The columns of the table that a model takes, by which CSV is read; undefined for a model that takes none, and for one
 * that cannot be described: the request itself fails then.
 */
export async function csvColumns(service: InferenceService, ref: ModelRef): Promise<readonly CsvColumn[] | undefined> {
  const description = await describeModel(service, ref).catch(() => undefined);
  return description && columnsOfTable(defaultSignature(description));
}

/** The columns that a signature has inputs for, one value for each row; undefined for any other signature. */
export function columnsOfTable(signature: Signature): readonly CsvColumn[] | undefined {
  const inputs = knownInputs(signature) ?? [];
  const isTable = inputs.length > 0 && inputs.every(({ shape }) => shape?.[0] === -1 && (shape[1] ?? 1) === 1);
  return isTable ? inputs.map(({ name, dtype }) => ({ name, kind: KINDS[dtype ?? "float64"] ?? "number" })) : undefined;
}

const KINDS: Partial<Record<DType, CsvColumn["kind"]>> = { bytes: "text", bool: "truth" };
