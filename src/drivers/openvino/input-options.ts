import { invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import type { Dimension } from "../../tensor/signature/signature.ts";
import type { LayoutChange, Network } from "./engine.ts";
import { cannotTake } from "./openvino-failure.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";

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

/**
 * Lets clients send inputs with their axes in another order than the model has them,
 * as the option says; throws `invalid_argument` for what cannot be read or does not
 * fit. Returns the orders in which clients send, by the inputs' places.
 */
export function applyLayouts(network: Network, { layout }: OpenvinoOptions): ReadonlyMap<number, string> {
  if (layout === undefined) return new Map();
  const text = layout.trim();
  const option = { name: "layout", text, example: "NHWC:NCHW", takeOutput: assertUnchanged };
  const texts = parseByInput(network, option) ?? forWholeModel(network, text);
  // A single layout only names the axes, and changes nothing.
  const changed = [...texts].filter(([, each]) => each.includes(":"));
  const changes = new Map(changed.map(([place, each]) => [place, parseChange(each)]));
  if (changes.size > 0) change(network, changes, text);
  return new Map(Array.from(texts, ([place, each]) => [place, each.toUpperCase().split(":", 1)[0]!]));
}

function change(network: Network, changes: ReadonlyMap<number, LayoutChange>, text: string): void {
  try {
    network.changeLayouts(changes);
  } catch (cause) {
    throw cannotTake({ option: "layout", text }, cause);
  }
}

/** A single layout applies to each input with this number of axes; a change must name its input. */
function forWholeModel({ inputs }: Network, text: string): Map<number, string> {
  if (inputs.length === 1) return new Map([[0, text]]);
  if (!text.includes(":")) {
    const places = [...inputs.keys()].filter((place) => inputs[place]?.shape?.length === text.length);
    return new Map(places.map((place) => [place, text]));
  }
  const names = inputs.map(({ name }) => name).join(", ");
  throw invalidArgument(
    `Option "layout" is "${text}", but the model has several inputs (${names}): give {"NAME": "NHWC:NCHW"}.`,
  );
}

/** OpenVINO's C API changes the layouts of inputs alone. */
function assertUnchanged(output: string, text: string): void {
  if (!text.includes(":")) return;
  throw invalidArgument(
    `Option "layout" has "${text}" for the output "${output}"; only inputs are transposed, so take the output as the model gives it.`,
  );
}

function parseChange(text: string): LayoutChange {
  const [client = "", model = "", ...rest] = text.toUpperCase().split(":");
  if (rest.length === 0 && client.length === model.length && [...client].sort().join() === [...model].sort().join())
    return { client, model };
  throw invalidArgument(`Option "layout" has "${text}"; expected the same axes twice, such as NHWC:NCHW.`);
}

/** An option whose value may be JSON with a value for each input. */
interface InputOption {
  readonly name: string;
  readonly text: string;
  /** A value for one input, for messages. */
  readonly example: string;
  /** Takes the value of an output; throws for one that it cannot have. Absent = the option has inputs alone. */
  readonly takeOutput?: (name: string, text: string) => void;
}

/**
 * The values by the inputs' places, if the option gives them by name; undefined if it has one for the whole
 * model. Throws `invalid_argument` for names that the model does not have.
 */
function parseByInput(network: Network, option: InputOption): Map<number, string> | undefined {
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
