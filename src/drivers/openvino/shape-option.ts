import { invalidArgument } from "../../errors.ts";
import type { Dimension } from "../../signature/signature.ts";
import { cannotTake } from "./cannot-take.ts";
import type { Network } from "./engine.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";
import { parseByInput } from "./parse-by-input.ts";

/** The part of `shape` for one input. */
type ShapeChoice = readonly Dimension[] | "auto";

/**
 * Gives a network the shapes that the options ask for; throws `invalid_argument` for what cannot be read or does not
 * fit. Whether the network is to be compiled for each shape that comes.
 */
export function applyShapes(network: Network, { shape, batch_size }: OpenvinoOptions): boolean {
  const choices = shape === undefined ? new Map<number, ShapeChoice>() : parseShapes(network, shape);
  const fixed = new Map<number, readonly Dimension[]>();
  for (const [place, choice] of choices) if (choice !== "auto") fixed.set(place, choice);
  if (fixed.size > 0) reshape(network, fixed, { option: "shape", text: shape });
  if (batch_size !== undefined)
    reshape(network, withBatch(network, batch_size), { option: "batch_size", text: batch_size });
  return [...choices.values()].includes("auto");
}

function reshape(
  network: Network,
  shapes: ReadonlyMap<number, readonly Dimension[]>,
  { option, text }: { readonly option: string; readonly text: string | undefined },
): void {
  try {
    network.reshape(shapes);
  } catch (cause) {
    throw cannotTake({ option, text }, cause);
  }
}

function parseShapes(network: Network, text: string): Map<number, ShapeChoice> {
  const trimmed = text.trim();
  const named = parseByInput(network, { name: "shape", text: trimmed, example: "(1,3,224,224)" });
  if (named !== undefined) return new Map(Array.from(named, ([place, each]) => [place, parseShape(each)]));
  const choice = parseShape(trimmed);
  if (choice !== "auto" && network.inputs.length > 1) {
    const names = network.inputs.map(({ name }) => name).join(", ");
    throw invalidArgument(
      `Option "shape" is "${text}", but the model has several inputs (${names}): give {"NAME": "(1,3)"}.`,
    );
  }
  return new Map(network.inputs.map((_, place) => [place, choice]));
}

/** `(1,3,-1,1:8)`, with brackets of either kind or none, or `auto`. */
function parseShape(text: string): ShapeChoice {
  if (text.toLowerCase() === "auto") return "auto";
  const inner =
    /^\((.*)\)$|^\[(.*)\]$/
      .exec(text)
      ?.slice(1)
      .find((part) => part !== undefined) ?? text;
  const parts = inner.trim() === "" ? [] : inner.replace(/,\s*$/, "").split(",");
  return parts.map((part) => parseDimension(part.trim()) ?? wrongShape(text));
}

function wrongShape(text: string): never {
  throw invalidArgument(
    `Option "shape" has "${text}"; expected dimensions such as (1,3,224,224), with -1 for any size and 1:8 for a range, or auto.`,
  );
}

function parseDimension(text: string): Dimension | undefined {
  if (text === "-1" || text === "?") return -1;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const [, min, max] = /^(\d{1,15})(?::|\.\.)(\d{1,15})$/.exec(text) ?? [];
  if (min === undefined || max === undefined || Number(min) > Number(max)) return undefined;
  return { min: Number(min), max: Number(max) };
}

function withBatch(network: Network, text: string): Map<number, readonly Dimension[]> {
  const batch = text.toLowerCase() === "auto" ? -1 : parseDimension(text.trim());
  if (batch === undefined || batch === 0)
    throw invalidArgument(
      `Option "batch_size" is "${text}"; expected a number of 1 or more, a range such as 1:8, or auto.`,
    );
  return new Map(
    network.inputs.map(({ name, shape }, place) => {
      if (shape === undefined || shape.length === 0)
        throw invalidArgument(`Option "batch_size" is "${text}", but the input "${name}" has no first dimension.`);
      return [place, [batch, ...shape.slice(1)]];
    }),
  );
}
