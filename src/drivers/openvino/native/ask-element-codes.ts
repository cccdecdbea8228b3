import type { Pointer } from "../../../native/bind-functions.ts";
import { ELEMENT_TYPES } from "../element-types.ts";
import type { OpenvinoApi } from "./c-api.ts";
import { ElementCodes } from "./element-codes.ts";
import { readPortName, readPorts } from "./ports.ts";
import { takePointer } from "./status.ts";

/** Answers of the libraries that this thread has opened. */
const answers = new WeakMap<OpenvinoApi, ElementCodes>();

/** Asks the library itself, by a model with an input of each type, once. */
export function askElementCodes(api: OpenvinoApi, core: Pointer): ElementCodes {
  const codes = answers.get(api) ?? askAll(api, core);
  answers.set(api, codes);
  return codes;
}

/** Releases that do not know all types are queried for each type. */
function askAll(api: OpenvinoApi, core: Pointer): ElementCodes {
  try {
    return new ElementCodes(ask(api, core, ELEMENT_TYPES));
  } catch {
    return new ElementCodes(new Map(ELEMENT_TYPES.flatMap((name) => [...askOne(api, core, name)])));
  }
}

function askOne(api: OpenvinoApi, core: Pointer, name: string): ReadonlyMap<string, number> {
  try {
    return ask(api, core, [name]);
  } catch {
    return new Map();
  }
}

function ask(api: OpenvinoApi, core: Pointer, names: readonly string[]): ReadonlyMap<string, number> {
  const text = Buffer.from(modelOf(names));
  const model = takePointer(api, (at) => api.ov_core_read_model_from_memory_buffer(core, text, text.length, null, at));
  try {
    return new Map(
      readPorts(api, model, "inputs", (port) => {
        const code = new Int32Array(1);
        api.ov_port_get_element_type(port, code);
        return [readPortName(api, port) ?? "", code[0] ?? -1] as const;
      }),
    );
  } finally {
    api.ov_model_free(model);
  }
}

/** An IR of version 11 whose inputs are named after their types. */
function modelOf(names: readonly string[]): string {
  const layers = names.map((name, index) => layersOf(name, index * 2)).join("");
  const edges = names.map(
    (_, index) => `<edge from-layer="${index * 2}" from-port="0" to-layer="${index * 2 + 1}" to-port="0"/>`,
  );
  return `<?xml version="1.0"?><net name="types" version="11"><layers>${layers}</layers><edges>${edges.join("")}</edges></net>`;
}

function layersOf(name: string, id: number): string {
  const port = `precision="${precisionOf(name)}"`;
  return `<layer id="${id}" name="${name}" type="Parameter" version="opset1"><data shape="1" element_type="${name}"/>
<output><port id="0" ${port} names="${name}"><dim>1</dim></port></output></layer>
<layer id="${id + 1}" name="${name}_result" type="Result" version="opset1"><input><port id="0" ${port}><dim>1</dim></port></input></layer>`;
}

/** The old names that ports go by. */
function precisionOf(name: string): string {
  if (name === "boolean") return "BOOL";
  return /^f(16|32|64)$/.test(name) ? `FP${name.slice(1)}` : name.toUpperCase();
}
