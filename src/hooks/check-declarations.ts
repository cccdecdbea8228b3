import { failedPrecondition, type ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { DTYPES, isDType } from "../tensor/dtype.ts";
import { isObject } from "../tensor/record.ts";
import { isTensor } from "../tensor/tensor.ts";

/** The declarations of a hook file, before their types are checked. */
export interface Declarations {
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly options?: unknown;
}

const SPEC_EXAMPLE = '{ name: "x", dtype: "float32", shape: [-1, 3] }';
/** Names alone look like a choice of outputs, which a declaration is not. */
const NOT_A_CHOICE = "A request chooses among the outputs; left out here, they are the model's own.";
const OPTION_EXAMPLE = '{ threshold: { type: "number", default: 0.5, help: "least score" } }';

/**
 * Checks `inputs`, `outputs` and `options` of a hook file; throws `failed_precondition` with the place, the given value
 * and the expected one.
 */
export function checkDeclarations({ inputs, outputs, options }: Declarations, file: string): void {
  const refuse: Refuse = (what, expected) => failedPrecondition(`${file}: ${what}; expected ${expected}`);
  if (inputs !== undefined) checkSpecs("inputs", inputs, refuse);
  if (outputs !== undefined) checkSpecs("outputs", outputs, refuse);
  if (options !== undefined) checkOptions(options, refuse);
}

/** The error for a value of the wrong type. */
type Refuse = (what: string, expected: string) => ServingError;

function checkSpecs(place: string, specs: unknown, refuse: Refuse): void {
  if (!Array.isArray(specs)) throw refuse(`${place} is ${kindOf(specs)}`, `an array such as [${SPEC_EXAMPLE}].`);
  for (const [index, spec] of specs.entries()) checkSpec(`${place}[${index}]`, spec, refuse);
  const names = (specs as { name: string }[]).map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw refuse(`${place} has "${twice}" twice`, "each name once.");
}

const SPEC_MEMBERS = ["name", "dtype", "shape", "default", "labels"];

function checkSpec(place: string, spec: unknown, refuse: Refuse): void {
  if (!isObject(spec)) {
    const isChoice = typeof spec === "string" && place.startsWith("outputs");
    throw refuse(
      `${place} is ${kindOf(spec)}`,
      `an object such as ${SPEC_EXAMPLE}.${isChoice ? ` ${NOT_A_CHOICE}` : ""}`,
    );
  }
  checkMembers(place, spec, SPEC_MEMBERS, refuse);
  const { name, dtype, shape, default: value, labels } = spec;
  if (typeof name !== "string" || name === "") throw refuse(`${place}.name is ${kindOf(name)}`, "the tensor's name.");
  if (typeof dtype !== "string" || !isDType(dtype)) {
    const came = typeof dtype === "string" ? `"${dtype}"` : kindOf(dtype);
    throw refuse(`${place}.dtype is ${came}`, `one of ${DTYPES.join(", ")}.${hintFor(dtype, DTYPES)}`);
  }
  if (shape !== undefined) checkShape(`${place}.shape`, shape, refuse);
  if (labels !== undefined) checkTexts(`${place}.labels`, labels, refuse);
  if (value !== undefined && !(isTensor(value) && value.dtype === dtype)) {
    throw refuse(
      `${place}.default is ${isTensor(value) ? `a ${value.dtype} tensor` : kindOf(value)}`,
      `a ${dtype} tensor.`,
    );
  }
}

function checkShape(place: string, shape: unknown, refuse: Refuse): void {
  if (!Array.isArray(shape)) throw refuse(`${place} is ${kindOf(shape)}`, "an array of dimensions such as [-1, 3].");
  const wrong = shape.findIndex((dimension) => !isDimension(dimension));
  if (wrong === -1) return;
  const came = typeof shape[wrong] === "number" ? shape[wrong] : kindOf(shape[wrong]);
  throw refuse(`${place}[${wrong}] is ${came}`, "an integer of 0 or more, -1 for any, or { min, max }.");
}

function isDimension(dimension: unknown): boolean {
  if (!isObject(dimension)) return isCount(dimension) || dimension === -1;
  const { min, max } = dimension;
  return Object.keys(dimension).length === 2 && isCount(min) && isCount(max) && min <= max;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function checkOptions(options: unknown, refuse: Refuse): void {
  if (!isObject(options)) throw refuse(`options is ${kindOf(options)}`, `an object such as ${OPTION_EXAMPLE}.`);
  for (const [key, option] of Object.entries(options)) checkOption(`options.${key}`, option, refuse);
}

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);

/** Members of each type of option in addition to `type` and `help`, and the check of its default. */
const OPTION_TYPES: Readonly<Record<string, { members: readonly string[]; is: (value: unknown) => boolean }>> = {
  string: { members: ["default"], is: isText },
  boolean: { members: ["default"], is: (value) => typeof value === "boolean" },
  integer: { members: ["default", "min"], is: Number.isSafeInteger },
  number: { members: ["default", "min"], is: isNumber },
  choice: { members: ["default", "choices"], is: isText },
  prefix: { members: [], is: () => false },
};

function checkOption(place: string, option: unknown, refuse: Refuse): void {
  if (!isObject(option)) throw refuse(`${place} is ${kindOf(option)}`, `an object, as in ${OPTION_EXAMPLE}.`);
  const { type, help, default: value, min, choices } = option;
  const names = Object.keys(OPTION_TYPES);
  const kind = typeof type === "string" && Object.hasOwn(OPTION_TYPES, type) ? OPTION_TYPES[type] : undefined;
  if (kind === undefined) {
    const came = typeof type === "string" ? `"${type}"` : kindOf(type);
    throw refuse(`${place}.type is ${came}`, `one of ${names.join(", ")}.${hintFor(type, names)}`);
  }
  checkMembers(place, option, ["type", "help", ...kind.members], refuse);
  if (help !== undefined && !isText(help)) throw refuse(`${place}.help is ${kindOf(help)}`, "a text.");
  if (min !== undefined && !isNumber(min)) throw refuse(`${place}.min is ${kindOf(min)}`, "a number.");
  if (type === "choice") checkTexts(`${place}.choices`, choices, refuse);
  if (value === undefined) return;
  if (!kind.is(value)) throw refuse(`${place}.default is ${kindOf(value)}`, `what its type says: ${type}.`);
  if (type === "choice" && !(choices as unknown[]).includes(value))
    throw refuse(`${place}.default is "${value}"`, `one of ${choices}.`);
}

function checkTexts(place: string, texts: unknown, refuse: Refuse): void {
  if (!Array.isArray(texts) || texts.length === 0) throw refuse(`${place} is ${kindOf(texts)}`, "texts in an array.");
  const wrong = texts.findIndex((text) => !isText(text));
  if (wrong !== -1) throw refuse(`${place}[${wrong}] is ${kindOf(texts[wrong])}`, "a text.");
}

function checkMembers(place: string, value: object, known: readonly string[], refuse: Refuse): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw refuse(`${place} has "${unknown}"`, `${known.join(", ")}.${didYouMean(unknown, known)}`);
}

function hintFor(value: unknown, known: Iterable<string>): string {
  return typeof value === "string" ? didYouMean(value, known) : "";
}
