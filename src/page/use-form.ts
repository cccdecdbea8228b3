import { useEffect, useState } from "preact/hooks";
import type { PageExample, PageExampleInput, PageTensor, PageVersion } from "../protocols/page/page-data.ts";
import { callServer, isSignedIn, urlOf } from "./call-server.ts";
import { takeLink } from "./copy-link.tsx";
import { countOf, type FormTensor } from "./form-tensor.ts";
import { type ChosenFile, type InputState, toFormTensor, toWrittenField, type WrittenForm } from "./input-state.ts";
import { parseFreeInputs } from "./parse-values.ts";
import type { SentRequest } from "./snippets.ts";
import { firstRow, rowsInOrder, toTableTensors, type WrittenRow, type WrittenTable } from "./table-values.ts";

/** Entries of a form. */
interface FormState {
  readonly entered: ReadonlyMap<string, InputState>;
  readonly free: string;
  readonly table?: WrittenTable | undefined;
  /** True if a person prefers the fields of tensors to those of a table. */
  readonly isPlain?: boolean;
  /** Said of entries that come from a link. */
  readonly note?: string;
}

const NOTHING: FormState = { entered: new Map(), free: '{"x": [1, 2, 3]}' };

/** Entries of the forms by version, for when the page comes back to them. */
const written = new Map<string, FormState>();

/** The fields of a form, and changes of them. */
export type Form = ReturnType<typeof useForm>;

/**
 * The fields of a version's form, which begin with those of a link, or with values that run; `free` has inputs of any
 * names, and `table` the columns of a model of tables, with `rows`.
 */
export function useForm(shown: PageVersion) {
  const { model, version, signatures } = shown;
  const [signature] = signatures;
  const inputs = signature?.inputs;
  const [form, setForm] = useFormState(shown);
  const example = useExample(shown);
  const found = example?.inputs ?? [];
  const known = inputs?.some((one) => one.isForImages) === true ? undefined : example?.table;
  const table = form.isPlain === true ? undefined : known;
  const rows = table && (form.table ? rowsInOrder(form.table, table.columns) : [firstRow(table.columns, found)]);
  const stateOf = (name: string): InputState => {
    const tensor = inputs?.find((one) => one.name === name);
    const first = tensor && exampleField(tensor, found);
    return form.entered.get(name) ?? { shape: "", values: "", ...first, isOmitted: tensor?.isOptional === true };
  };
  const set = (change: Partial<FormState>) => setForm((before) => ({ ...before, note: "", ...change }));
  const readInputs = (read = stateOf): readonly FormTensor[] => {
    if (inputs === undefined) return parseFreeInputs(form.free);
    if (table !== undefined && rows !== undefined) return toTableTensors(inputs, table, rows);
    return inputs.flatMap((one) => toFormTensor(one, read(one.name)) ?? []);
  };
  return {
    inputs,
    stateOf,
    change: (name: string, state: InputState) =>
      setForm((before) => ({ ...before, note: "", entered: new Map(before.entered).set(name, state) })),
    /** Gives an input's file another form, unless a person has chosen another file meanwhile. */
    changeFile: (name: string, sent: ChosenFile | undefined, change: Partial<InputState>) =>
      setForm((before) => {
        const now = before.entered.get(name);
        if (now?.file !== sent || now === undefined) return before;
        return { ...before, entered: new Map(before.entered).set(name, { ...now, ...change }) };
      }),
    free: form.free,
    setFree: (free: string) => set({ free }),
    table,
    rows: rows ?? [],
    setRows: (changed: readonly WrittenRow[]) =>
      set({ table: { names: known?.columns.map(({ name }) => name) ?? [], rows: changed } }),
    /** True before it is known which columns there are. */
    isPending: signature?.isTable === true && example === undefined,
    hasTable: known !== undefined,
    isPlain: form.isPlain === true,
    setPlain: (isPlain: boolean) => set({ isPlain }),
    // What a person, a link or an earlier request has filled in is not a guess of the server's.
    note: form.note ?? example?.note ?? "",
    fill: (filled: WrittenForm) => setForm((before) => withKept(before, toFormState(filled))),
    readInputs,
    toRequest: (): SentRequest => ({
      ...{ base: urlOf("./"), model, version, isSignedIn: isSignedIn() },
      inputs: readInputs(),
    }),
    toWritten: (): WrittenForm => {
      if (inputs === undefined) return { inputs: [], free: form.free };
      if (table === undefined || rows === undefined)
        return { inputs: inputs.flatMap(({ name }) => toWrittenField(name, stateOf(name)) ?? []) };
      return { inputs: [], table: { names: table.columns.map(({ name }) => name), rows } };
    },
  };
}

/** The entries of a version's form: those of a link, or of an earlier visit. */
function useFormState(shown: PageVersion) {
  const key = `${shown.model}/${shown.version}`;
  const [form, setForm] = useState(() => linkedForm(shown) ?? written.get(key) ?? NOTHING);
  useEffect(() => void written.set(key, form), [key, form]);
  useEffect(() => {
    const follow = () => {
      const linked = linkedForm(shown);
      if (linked !== undefined) setForm(linked);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [key]);
  return [form, setForm] as const;
}

function toFormState({ inputs, free = NOTHING.free, table }: WrittenForm): FormState {
  const entered = new Map(inputs.map(({ name, ...field }) => [name, field] as const));
  return { entered, free, table, isPlain: inputs.length > 0 };
}

/** The form of an earlier request, with the files of now: those of then are not kept. */
function withKept(before: FormState, kept: FormState): FormState {
  const others = [...before.entered].filter(([name, { file }]) => file !== undefined && !kept.entered.has(name));
  const note = others.length === 0 ? "" : "Filled in; files are those that were chosen here.";
  return { ...kept, entered: new Map([...kept.entered, ...others]), note };
}

/** The form of the page's address, once; undefined if it has none. */
function linkedForm(shown: PageVersion): FormState | undefined {
  const link = takeLink(shown);
  if (link === undefined) return undefined;
  if (link === "unreadable")
    return { ...NOTHING, note: "The inputs of the link cannot be read; the form has its own." };
  return { ...toFormState(link), note: "Filled in from the link; nothing has been sent yet." };
}

const NO_EXAMPLE: PageExample = { inputs: [], note: "These values are a guess." };

/** The inputs of a version that the server has found; undefined before its answer. */
function useExample({ model, version, signatures }: PageVersion): PageExample | undefined {
  const [example, setExample] = useState<PageExample>();
  // A version that is loaded again may have others.
  const declared = JSON.stringify(signatures[0]?.inputs);
  useEffect(() => {
    const stop = new AbortController();
    const path = `ui/models/${encodeURIComponent(model)}/versions/${version}/example`;
    callServer(path, { signal: stop.signal })
      .then(async (response) => setExample((await response.json()) as PageExample))
      // Fields have values of the declared shapes, then.
      .catch(() => stop.signal.aborted || setExample(NO_EXAMPLE));
    return () => stop.abort();
  }, [model, version, declared]);
  return example;
}

/** Up to so many elements are written out, for people to change. */
const MAX_WRITTEN = 24;

/** The first texts of an input's fields: values with which a model probably runs. */
function exampleField(
  { name, datatype, shape: declared = [1] }: PageTensor,
  examples: readonly PageExampleInput[],
): Pick<InputState, "shape" | "values"> {
  const found = examples.find((one) => one.name === name);
  const shape = found?.shape ?? declared.map((size) => (size < 0 ? 1 : size));
  const element = found?.element ?? (datatype === "BYTES" ? "text" : 0);
  if (datatype === "BYTES") return { shape: shape.join(", "), values: String(element) };
  const value = datatype === "BOOL" ? element === 1 : element;
  if (countOf(shape) > MAX_WRITTEN) return { shape: shape.join(", "), values: JSON.stringify(value) };
  const nested = shape.reduceRight<unknown>((inner, size) => new Array(size).fill(inner), value);
  return { shape: shape.join(", "), values: JSON.stringify(nested) };
}
