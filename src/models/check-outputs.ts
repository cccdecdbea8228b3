import { nearest } from "../platform/text/nearest.ts";
import { fitsShape, formatShape, formatSpecs, type TensorSpec } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";

/** Declared outputs, and those of them that an answer may leave out. */
export interface DeclaredOutputs {
  readonly declared: readonly TensorSpec[];
  /** Names that have to be there; absent = all that are declared. */
  readonly needed?: readonly string[] | undefined;
}

/**
 * The first way in which an answer differs from the outputs that are declared for it, as the rest of a sentence about
 * what gave it; undefined for one that has those names, dtypes and shapes.
 */
export function outputMismatch(outputs: Tensors, { declared, needed }: DeclaredOutputs): string | undefined {
  const mismatch = nameMismatch(Object.keys(outputs), { declared, needed });
  if (mismatch !== undefined) return mismatch;
  const wrong = declared.find(({ name, dtype, shape }) => {
    const tensor = outputs[name];
    return tensor && (tensor.dtype !== dtype || (shape !== undefined && !fitsShape(tensor.shape, shape)));
  });
  const came = wrong && outputs[wrong.name];
  if (wrong === undefined || came === undefined) return undefined;
  return `returned "${wrong.name}" as ${came.dtype}${formatShape(came.shape)}; declared is ${wrong.dtype}${formatShape(wrong.shape)}`;
}

/** The first way in which the names of an answer differ from those that are declared, as {@link outputMismatch}. */
export function nameMismatch(came: readonly string[], { declared, needed }: DeclaredOutputs): string | undefined {
  const names = declared.map(({ name }) => name);
  const missing = (needed ?? names).filter((name) => !came.includes(name));
  const others = came.filter((name) => !names.includes(name));
  if (missing.length > 0) return `did not return the declared ${quoted(missing)}, but ${cameText(others, missing)}`;
  const [extra] = others;
  if (extra === undefined) return undefined;
  const left = names.filter((name) => !came.includes(name));
  return `returned "${cut(extra)}"${meant(extra, left)}, which is not declared; declared are ${formatSpecs(declared.slice(0, MAX_NAMES)) || "none"}${more(declared)}`;
}

/** Names that come from a user's code, as a message has them. */
const MAX_NAME = 100;
const MAX_NAMES = 20;

function cut(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

function cameText(others: readonly string[], missing: readonly string[]): string {
  const told = others.slice(0, MAX_NAMES).map((name) => `"${cut(name)}"${meant(name, missing)}`);
  return `${told.join(", ")}${more(others)}` || "nothing else";
}

function quoted(names: readonly string[]): string {
  return `${names.length === 1 ? "output" : "outputs"} ${names
    .slice(0, MAX_NAMES)
    .map((name) => `"${name}"`)
    .join(", ")}${more(names)}`;
}

function more({ length }: { readonly length: number }): string {
  return length > MAX_NAMES ? `, and ${length - MAX_NAMES} more` : "";
}

function meant(name: string, missing: readonly string[]): string {
  const near = nearest(cut(name), missing);
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}
