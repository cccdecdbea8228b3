import { failedPrecondition, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Network, Port, PortRole } from "./engine.ts";

/** Words for the two kinds of ports. */
export const TITLES = { inputs: "Input", outputs: "Output" } as const;

/** The name of a port, or of its place where it has none. */
export function nameOf(role: PortRole, { name }: Port, place: number): string {
  return name ?? `${TITLES[role].toLowerCase()}_${place}`;
}

/** The error for a name in an option or a file (`who`) that the network does not have. */
export function unknownName(
  network: Network,
  role: PortRole,
  { name, who }: { readonly name: string; readonly who: string },
): ServingError {
  const known = network[role].map((port, place) => nameOf(role, port, place));
  return failedPrecondition(
    `${who} names "${name}", but the model has no such ${TITLES[role].toLowerCase()}.${didYouMean(name, known)} It has ${known.join(", ")}.`,
  );
}
