import { useEffect, useState } from "preact/hooks";
import type { PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import { callServer } from "./call-server.ts";
import { countOf } from "./form-tensor.ts";
import type { InputState } from "./input-state.ts";

type States = ReadonlyMap<string, InputState>;

/** Entries of the forms by version, for when the page comes back to them. */
const written = new Map<string, { readonly entered: States; readonly free: string }>();
const NOTHING = { entered: new Map(), free: '{"x": [1, 2, 3]}' } as const;

/** The fields of a version's form, which begin with values that run; `free` has inputs of any names. */
export function useForm({ model, version, signatures }: PageVersion) {
  const inputs = signatures[0]?.inputs;
  // A version that is loaded again may have others.
  const declared = JSON.stringify(inputs);
  const [found, setFound] = useState<readonly ExampleInput[]>([]);
  const key = `${model}/${version}`;
  const [{ entered, free }, setForm] = useState(written.get(key) ?? NOTHING);
  useEffect(() => void written.set(key, { entered, free }), [key, entered, free]);
  useEffect(() => {
    const stop = new AbortController();
    const path = `ui/models/${encodeURIComponent(model)}/versions/${version}/example`;
    callServer(path, { signal: stop.signal })
      .then(async (response) => setFound(((await response.json()) as { inputs: readonly ExampleInput[] }).inputs))
      // Fields have values of the declared shapes, then.
      .catch(() => setFound([]));
    return () => stop.abort();
  }, [model, version, declared]);
  const stateOf = (name: string): InputState => {
    const tensor = inputs?.find((one) => one.name === name);
    const first =
      tensor &&
      exampleField(
        tensor,
        found.find((one) => one.name === name),
      );
    return entered.get(name) ?? { shape: "", values: "", ...first, isOmitted: tensor?.isOptional === true };
  };
  const change = (name: string, state: InputState) =>
    setForm((form) => ({ ...form, entered: new Map(form.entered).set(name, state) }));
  const setFree = (text: string) => setForm((form) => ({ ...form, free: text }));
  return { inputs, stateOf, change, free, setFree };
}

/** An example of an input, as the server has found it. */
interface ExampleInput {
  readonly name: string;
  readonly shape: readonly number[];
  /** A number, or a text. */
  readonly element: number | string;
}

/** Up to so many elements are written out, for people to change. */
const MAX_WRITTEN = 24;

/** The first texts of an input's fields: values with which a model probably runs. */
function exampleField(
  { datatype, shape: declared = [1] }: PageTensor,
  found: ExampleInput | undefined,
): { readonly shape: string; readonly values: string } {
  const shape = found?.shape ?? declared.map((size) => (size < 0 ? 1 : size));
  const element = found?.element ?? (datatype === "BYTES" ? "text" : 0);
  if (datatype === "BYTES") return { shape: shape.join(", "), values: String(element) };
  const value = datatype === "BOOL" ? element === 1 : element;
  if (countOf(shape) > MAX_WRITTEN) return { shape: shape.join(", "), values: JSON.stringify(value) };
  const nested = shape.reduceRight<unknown>((inner, size) => new Array(size).fill(inner), value);
  return { shape: shape.join(", "), values: JSON.stringify(nested) };
}
