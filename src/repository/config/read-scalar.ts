import type { ConfigNode, ConfigScalar } from "../../codecs/config/config-node.ts";
import { MAX_VERSION } from "../../serving/parse-version.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { FieldKind } from "./field-table.ts";
import type { Findings } from "./findings.ts";
import { refuseValue } from "./refuse-value.ts";

/** Reads a single value; undefined for an invalid one, which is added to the findings. */
export function readScalar(key: string, node: ConfigNode, kind: FieldKind, findings: Findings): unknown {
  const fail = (expected: string, hint = "") => refuseValue({ key, node, findings }, expected, hint);
  const scalar = node.kind === "scalar" && node.value !== null ? node : undefined;
  switch (kind.type) {
    case "text":
      return scalar === undefined || scalar.isWord || scalar.text === "" ? fail("a text in quotes") : scalar.text;
    case "boolean":
      return booleanOf(scalar) ?? fail("true or false");
    case "number": {
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = kind;
      const number = numberOf(scalar);
      return number !== undefined && number >= min && number <= max ? number : fail(rangeText(kind, "a number"));
    }
    case "version": {
      const version = integerOf(scalar);
      return version === undefined || version < 0n || version > MAX_VERSION
        ? fail("a version: an integer from 0 to 9223372036854775807")
        : version;
    }
    case "integer": {
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = kind;
      const integer = integerOf(scalar);
      const fits = integer !== undefined && integer >= BigInt(min) && integer <= BigInt(max);
      return fits ? Number(integer) : fail(rangeText(kind));
    }
    case "choice": {
      const text = scalar?.text ?? "";
      const choice = kind.choices.find((one) => one.toLowerCase() === text.toLowerCase());
      const reason = choice === undefined ? undefined : kind.unusedChoices?.[choice];
      if (reason !== undefined) findings.warn(node.place, `"${key}: ${choice}" changes nothing here: ${reason}.`);
      return choice ?? fail(`one of ${kind.choices.join(", ")}`, didYouMean(text, kind.choices));
    }
  }
}

function rangeText({ min, max }: { readonly min?: number; readonly max?: number }, what = "an integer"): string {
  if (min !== undefined && max !== undefined) return `${what} from ${min} to ${max}`;
  return min === undefined ? what : `${what} of ${min} or more`;
}

/** Protobuf's text format also allows 1 and 0. */
function booleanOf(scalar: ConfigScalar | undefined): boolean | undefined {
  if (typeof scalar?.value === "boolean") return scalar.value;
  return scalar?.value === 1n ? true : scalar?.value === 0n ? false : undefined;
}

/** Other servers' JSON files sometimes have numbers in quotes. */
function integerOf(scalar: ConfigScalar | undefined): bigint | undefined {
  if (typeof scalar?.value === "bigint") return scalar.value;
  return typeof scalar?.value === "string" && /^-?\d+$/.test(scalar.value) ? BigInt(scalar.value) : undefined;
}

function numberOf(scalar: ConfigScalar | undefined): number | undefined {
  const value = Number(scalar === undefined || scalar.text.trim() === "" ? Number.NaN : scalar.text);
  return Number.isFinite(value) && typeof scalar?.value !== "boolean" ? value : undefined;
}
