import type { Command, Option } from "commander";
import { invalidArgument, type ServingError } from "../../errors.ts";

/**
 * Lets a command refuse a second value of a flag that takes one, which would silently win over the first: parsing then
 * throws `invalid_argument` naming both. Flags without a value, and those that collect their values, may be repeated.
 */
export function refuseRepeats(command: Command, isRepeatable: (option: Option) => boolean): void {
  for (const option of command.options) {
    if (option.isBoolean() || isRepeatable(option)) continue;
    let earlier: string | undefined;
    command.on(`option:${option.name()}`, (given: string | null) => {
      const value = given ?? String(option.presetArg);
      if (earlier !== undefined) throw repeated(`--${option.name()}`, earlier, value);
      earlier = value;
    });
  }
}

function repeated(flag: string, earlier: string, value: string): ServingError {
  const both = earlier === value ? `"${value}" twice` : `"${earlier}" and "${value}"`;
  return invalidArgument(`${flag} is given ${both}; it takes one value, give it once.`);
}
