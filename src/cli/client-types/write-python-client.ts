import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { plainElement } from "../../tensor/signature/example-inputs.ts";
import { PYTHON_BASE } from "./python-base.ts";
import {
  categoriesNote,
  type DescribedModel,
  distinctNames,
  exampleColumns,
  type TypedTensor,
  toPascalCase,
  wordsOf,
} from "./typed-tensor.ts";

/** Words of the language, and names that every client has. */
const RESERVED = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in infer is lambda nonlocal not or pass raise return self try while with yield infer stream".split(
    " ",
  ),
);
/** numpy's names of the dtypes of outputs that have another one than ours. */
const NUMPY_NAMES: Readonly<Record<string, string>> = { bool: "bool_", bytes: "object_", bfloat16: "float32" };

/** A Python module with a method for each model, by name; `source` is their server or file. */
export function writePythonClient(models: ReadonlyMap<string, DescribedModel>, source: string): string {
  const names = [...models.keys()];
  const taken = new Set<string>();
  const methods = distinctNames(names, toSnakeCase, taken);
  const streams = distinctNames(names, (name) => `${methods.get(name)}_stream`, taken);
  const classes = distinctNames(names, toPascalCase);
  const written = [...models].map(([name, model]) => {
    const result = `${classes.get(name)}Outputs`;
    return writeModel({ name, method: `${methods.get(name)}`, stream: `${streams.get(name)}`, result }, model);
  });
  const results = written.map(({ result }) => result).join("");
  return `# Written by \`kserving client\`; write it again where the models change.
# The models of ${text(source)}.

${PYTHON_BASE}${results}

class Client(_Connection):
    """The models of one server; several threads may use it."""
${written.map(({ method }) => method).join("")}`;
}

interface ModelNames {
  readonly name: string;
  readonly method: string;
  /** The method that gives parts. */
  readonly stream: string;
  readonly result: string;
}

function writeModel(names: ModelNames, model: DescribedModel) {
  const { inputs, outputs, decoupled } = model;
  const { parameters, values } = inputs === undefined ? ANY_INPUTS : describeInputs(inputs);
  const args = `${text(names.name)}, ${values}${listOf(outputs)}`;
  const fields = outputs?.map(({ name }) => `found[${text(name)}]`);
  const result = fields === undefined ? "found" : `${names.result}(${fields.join(", ")})`;
  const type = outputs === undefined ? "dict[str, np.ndarray]" : names.result;
  const method = `
    def ${names.method}(self${parameters}) -> ${type}:
        # ${text(names.name)}${exampleNote(names.method, model)}
${categoryLines(inputs)}        found = self.infer(${args})
        return ${result}
`;
  const stream = `
    def ${names.stream}(self${parameters}) -> Iterator[${type}]:
        # The parts of an answer of ${text(names.name)}, as they come.
        for found in self.stream(${args}):
            yield ${result}
`;
  return {
    result: outputs === undefined ? "" : writeResult(names, outputs),
    method: decoupled === true ? method + stream : method,
  };
}

/** A request by column, whose values are a guess. */
function exampleNote(method: string, model: DescribedModel): string {
  const columns = exampleColumns(model);
  if (columns === undefined) return "";
  const names = parameterNames(model.inputs ?? []);
  const values = columns.map((input) => {
    const element = plainElement(input);
    const value = typeof element === "boolean" ? (element ? "True" : "False") : text(element);
    return `${names.get(input.name)}=[${value}]`;
  });
  return `. For example: client.${method}(${values.join(", ")})`;
}

/** Values that inputs have, as far as the model knows them. */
function categoryLines(inputs: readonly TypedTensor[] = []): string {
  const names = parameterNames(inputs);
  const lines = inputs.map((input) => {
    const note = categoriesNote(input);
    return note === undefined ? "" : `        # ${names.get(input.name)}: ${note}\n`;
  });
  return lines.join("");
}

function parameterNames(inputs: readonly TypedTensor[]): ReadonlyMap<string, string> {
  return distinctNames(
    inputs.map(({ name }) => name),
    toSnakeCase,
  );
}

const ANY_INPUTS = { parameters: ", inputs: Mapping[str, npt.ArrayLike]", values: "inputs" };

function describeInputs(inputs: readonly TypedTensor[]) {
  const names = parameterNames(inputs);
  const parameters = inputs.map(({ name, isOptional }) =>
    isOptional ? `${names.get(name)}: npt.ArrayLike | None = None` : `${names.get(name)}: npt.ArrayLike`,
  );
  const values = inputs.map(({ name, dtype }) => {
    const datatype = dtype && datatypeOf(dtype)?.name;
    const value = datatype === undefined ? names.get(name) : `_Typed("${datatype}", ${names.get(name)})`;
    return `${text(name)}: ${value}`;
  });
  return {
    parameters: ["", ...(parameters.length > 0 ? ["*"] : []), ...parameters].join(", "),
    values: `{${values.join(", ")}}`,
  };
}

/** The wanted outputs, so that the server refuses those that a changed model has not any more. */
function listOf(outputs: readonly TypedTensor[] = []): string {
  return outputs.length === 0 ? "" : `, [${outputs.map(({ name }) => text(name)).join(", ")}]`;
}

function writeResult({ name, result }: ModelNames, outputs: readonly TypedTensor[]): string {
  const fields = distinctNames(
    outputs.map((output) => output.name),
    toSnakeCase,
  );
  const lines = outputs.map((output) => `    ${fields.get(output.name)}: ${arrayType(output)}${shapeNote(output)}\n`);
  return `

@dataclass(frozen=True, eq=False)
class ${result}:
    # The outputs of ${text(name)}.
${lines.join("") || "    pass\n"}`;
}

function arrayType({ dtype }: TypedTensor): string {
  return dtype === undefined ? "np.ndarray" : `npt.NDArray[np.${NUMPY_NAMES[dtype] ?? dtype}]`;
}

function shapeNote({ shape }: TypedTensor): string {
  return shape === undefined ? "" : `  # [${shape.join(", ")}]`;
}

function toSnakeCase(name: string): string {
  const word = wordsOf(name).join("_");
  return RESERVED.has(word) ? `${word}_` : word;
}

/** A text in JSON is one of Python too. */
function text(value: string | number): string {
  return JSON.stringify(value);
}
