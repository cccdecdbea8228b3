import { invalidArgument, type ServingError } from "../../errors.ts";
import type { ExampleInput } from "../../tensor/signature/example-inputs.ts";

const MAX_ELEMENTS = 2 ** 31;

/**
 * Gives example inputs the shapes of `--shape NAME=1,3,224,224` flags; throws
 * `invalid_argument` for other texts and unknown names.
 */
export function applyShapes(examples: readonly ExampleInput[], flags: readonly string[]): readonly ExampleInput[] {
  const shapes = new Map(flags.map(parseShape));
  const names = examples.map(({ name }) => name);
  for (const name of shapes.keys()) if (!names.includes(name)) throw unknownInput(name, names);
  return examples.map((example) => ({ ...example, shape: shapes.get(example.name) ?? example.shape }));
}

function unknownInput(name: string, known: readonly string[]): ServingError {
  const has =
    known.length === 0
      ? "does not declare inputs, and has no shapes to set. Give its inputs with --input NAME=VALUE"
      : `has ${known.join(", ")}`;
  return invalidArgument(`--shape names the input "${name}"; the model ${has}.`);
}

function parseShape(flag: string): [name: string, shape: readonly number[]] {
  const [, name, sizes] = /^(.+)=\[?(\d+(?:,\d+)*)?\]?$/.exec(flag) ?? [];
  if (name === undefined)
    throw invalidArgument(`--shape is "${flag}"; expected NAME=SIZES, such as image=1,3,224,224.`);
  const shape = sizes === undefined ? [] : sizes.split(",").map(Number);
  if (shape.reduce((product, size) => product * size, 1) >= MAX_ELEMENTS)
    throw invalidArgument(
      `--shape is "${flag}"; expected fewer than ${MAX_ELEMENTS} elements, which no message holds.`,
    );
  return [name, shape];
}
