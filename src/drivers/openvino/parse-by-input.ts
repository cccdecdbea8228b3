import { invalidArgument } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Network } from "./engine.ts";

/** An option whose value may be JSON with a value for each input. */
export interface InputOption {
  readonly name: string;
  readonly text: string;
  /** A value for one input, for messages. */
  readonly example: string;
}

/**
 * The values by the inputs' places, where the option gives them by name; undefined where it has one for the whole
 * model. Throws `invalid_argument` for names that the model does not have.
 */
export function parseByInput(network: Network, { name, text, example }: InputOption): Map<number, string> | undefined {
  if (!text.startsWith("{")) return undefined;
  let values: Record<string, unknown>;
  try {
    values = JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(`Option "${name}" is "${text}"; expected JSON such as {"image": "${example}"}.`, cause);
  }
  return new Map(
    Object.entries(values).map(([input, value]) => [
      placeOf(network, input, name),
      typeof value === "string" ? value.trim() : JSON.stringify(value),
    ]),
  );
}

function placeOf(network: Network, input: string, option: string): number {
  const place = network.find("inputs", input);
  if (place !== undefined) return place;
  const names = network.inputs.flatMap(({ name }) => name ?? []);
  throw invalidArgument(
    `Option "${option}" names "${input}", which is not an input of the model.${didYouMean(input, names)} It has ${names.join(", ")}.`,
  );
}
