import { invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Network } from "./engine.ts";

/** An option whose value may be JSON with a value for each input. */
export interface InputOption {
  readonly name: string;
  readonly text: string;
  /** A value for one input, for messages. */
  readonly example: string;
  /** Takes the value of an output; throws for one that it cannot have. Absent = the option has inputs alone. */
  readonly takeOutput?: (name: string, text: string) => void;
}

/**
 * The values by the inputs' places, where the option gives them by name; undefined where it has one for the whole
 * model. Throws `invalid_argument` for names that the model does not have.
 */
export function parseByInput(network: Network, option: InputOption): Map<number, string> | undefined {
  const { name, text, takeOutput } = option;
  if (!text.startsWith("{")) return undefined;
  const found = new Map<number, string>();
  for (const [port, value] of Object.entries(parse(option))) {
    const own = typeof value === "string" ? value.trim() : JSON.stringify(value);
    const place = network.find("inputs", port);
    if (place !== undefined) found.set(place, own);
    else if (takeOutput !== undefined && network.find("outputs", port) !== undefined) takeOutput(port, own);
    else throw unknownInput(network, port, name);
  }
  return found;
}

function parse({ name, text, example }: InputOption): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(`Option "${name}" is "${text}"; expected JSON such as {"image": "${example}"}.`, cause);
  }
}

function unknownInput(network: Network, input: string, option: string): ServingError {
  const names = network.inputs.flatMap(({ name }) => name ?? []);
  return invalidArgument(
    `Option "${option}" names "${input}", which is not an input of the model.${didYouMean(input, names)} It has ${names.join(", ")}.`,
  );
}
