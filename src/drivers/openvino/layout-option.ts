import { invalidArgument } from "../../errors.ts";
import { cannotTake } from "./cannot-take.ts";
import type { LayoutChange, Network } from "./engine.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";
import { parseByInput } from "./parse-by-input.ts";

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
