import { cutText } from "../../platform/text/cut-text.ts";
import type { DType } from "../../tensor/dtype.ts";
import { type ExampleInput, guessExamples } from "../../tensor/signature/example-inputs.ts";

/** An input or output in the types of a model. */
export interface TypedTensor {
  readonly name: string;
  /** Absent = any. */
  readonly dtype?: DType | undefined;
  /** -1 = any size; absent = any rank. */
  readonly shape?: readonly number[] | undefined;
  /** True if a request may leave it out. */
  readonly isOptional?: boolean;
  /** Values that an input's elements have, as far as the model knows them. */
  readonly categories?: readonly (string | number)[] | undefined;
  /** A value that an element may have, as far as the model tells one. */
  readonly example?: string | number | undefined;
}

/** A model whose types are written; absent = any. */
export interface DescribedModel {
  readonly inputs?: readonly TypedTensor[] | undefined;
  readonly outputs?: readonly TypedTensor[] | undefined;
  /** True if it answers in parts. */
  readonly decoupled?: true;
}

/** Values of one request, for the text of an example: those of the inputs that it needs. */
export function exampleOf({ inputs = [] }: DescribedModel): readonly ExampleInput[] {
  const specs = inputs.flatMap(({ dtype, shape = [], isOptional, categories, example, name }) =>
    dtype === undefined || isOptional
      ? []
      : [{ name, dtype, shape, ...(categories && { categories }), ...(example !== undefined && { example }) }],
  );
  return guessExamples(specs);
}

/** Characters of an example's names and values that people read in a comment. */
const MAX_EXAMPLE_LENGTH = 2000;

/**
 * The values of one request where each input is a column, with one value for each row; undefined for other models, and
 * for one of so many columns, or so long values, that no one reads them.
 */
export function exampleColumns(model: DescribedModel): readonly ExampleInput[] | undefined {
  const inputs = exampleOf(model);
  const areColumns =
    inputs.length > 0 &&
    inputs.every(({ shape, dtype }) => shape.length === 1 && shape[0] === 1 && !dtype.startsWith("complex"));
  const lengths = inputs.map(({ name, element }) => name.length + (typeof element === "number" ? 1 : element.length));
  const isShort = lengths.reduce((sum, length) => sum + length, 0) <= MAX_EXAMPLE_LENGTH;
  return areColumns && isShort ? inputs : undefined;
}

/** An identifier for each name; one that another name has already, or that is `taken`, gets a number, `faces_2`. */
export function distinctNames(
  names: readonly string[],
  toIdentifier: (name: string) => string,
  taken = new Set<string>(),
): ReadonlyMap<string, string> {
  const found = names.map((name) => {
    const plain = toIdentifier(name);
    let identifier = plain;
    for (let number = 2; taken.has(identifier); number++) identifier = `${plain}_${number}`;
    taken.add(identifier);
    return [name, identifier] as const;
  });
  return new Map(found);
}

/** Letters, their marks and digits, which Python takes in identifiers, as JavaScript does. */
const IDENTIFIER_WORDS = /(?:(?=\p{XID_Continue})[\p{L}\p{M}\p{Nd}])+/gu;

/**
 * The words of a name that an identifier may have, in the form NFKC, in which Python compares them; a name that begins
 * with no letter gets the word `n` first.
 */
export function wordsOf(name: string, pattern = IDENTIFIER_WORDS): readonly string[] {
  const words = name.normalize("NFKC").match(pattern) ?? [];
  return /^\p{XID_Start}/u.test(words[0] ?? "") ? words : ["n", ...words];
}

/** `half-plus-two` as `HalfPlusTwo`. */
export function toPascalCase(name: string, pattern?: RegExp): string {
  return wordsOf(name, pattern)
    .map((word) => word.replace(/^./u, (first) => first.toUpperCase()))
    .join("");
}

/** Categories of an input that a comment tells at most. */
const MAX_CATEGORIES = 20;

/** The text of a comment about the values that an input's elements have; undefined where the model knows none. */
export function categoriesNote(
  { categories }: TypedTensor,
  write: (category: string | number) => string = JSON.stringify,
): string | undefined {
  if (categories === undefined || categories.length === 0) return undefined;
  const shown = categories.slice(0, MAX_CATEGORIES).map((category) => cutText(write(category)));
  return `one of ${shown.join(", ")}${categories.length > MAX_CATEGORIES ? " and more" : ""}`;
}
