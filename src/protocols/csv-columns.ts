import type { ServableDescription } from "../serving/servable-description.ts";
import type { CsvColumn } from "../tensor/codecs/csv-to-json-rows.ts";
import type { DType } from "../tensor/dtype.ts";
import { chooseSignature } from "../tensor/signature/choose-signature.ts";
import { type KnownInput, knownInputs, type Signature } from "../tensor/signature/signature.ts";

/**
 * The columns of the table that a signature of a model takes, by which CSV is read; undefined for one that takes none,
 * and for one that is not there: the request itself fails then. An empty name is the default signature's.
 */
export function csvColumns(
  { signatures }: Pick<ServableDescription, "signatures">,
  signature = "",
): readonly CsvColumn[] | undefined {
  const chosen = chooseSignature(signature, signatures);
  return chosen?.spec && columnsOfTable(chosen.spec);
}

/** The columns that a signature has inputs for, one value for each row; undefined for any other signature. */
export function columnsOfTable(signature: Signature): readonly CsvColumn[] | undefined {
  const inputs = knownInputs(signature) ?? [];
  const isTable = inputs.length > 0 && inputs.every(({ shape }) => isColumn(shape));
  return isTable ? inputs.map((input) => ({ name: input.name, kind: kindOf(input) })) : undefined;
}

function kindOf({ dtype, isAssumed }: KnownInput): CsvColumn["kind"] {
  return isAssumed || dtype === undefined ? "assumed" : (KINDS[dtype] ?? "number");
}

function isColumn(shape: KnownInput["shape"] = []): boolean {
  return shape.length <= 2 && shape[0] === -1 && (shape[1] ?? 1) === 1;
}

const KINDS: Partial<Record<DType, CsvColumn["kind"]>> = { bytes: "text", bool: "truth" };
