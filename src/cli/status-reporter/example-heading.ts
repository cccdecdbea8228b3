import type { ExampleInputs } from "../../signature/example-inputs.ts";

/** The line before the example: if the example ran, and which parts of it are a guess. */
export function exampleHeading({ inputs, ran, guessed }: ExampleInputs): string {
  if (ran === false) return "Try it with sizes and values of your own; what was tried here did not run:";
  const guesses = inputs.filter(({ name }) => guessed.includes(name));
  if (guesses.length === 0) return ran ? "Try it:" : "Try it with values of your own; this guess was not tried:";
  const shapes = guesses.map(({ name, shape }) => `${name} [${shape}]`).join(", ");
  return `Try it; the model leaves sizes open, of which these are guessed and ${ran ? "ran" : "were not tried"}, ${shapes}:`;
}
