/** A JSON schema, as far as the page shows it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

/** One operation of the server's OpenAPI document. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly required?: boolean; readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

/** The server's OpenAPI document, as far as the page shows it. */
export interface ApiDocument {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** An operation with its place. */
export interface PlacedOperation {
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly operation: Operation;
}

/** The operations by their tags, in the document's order; those of models first, then the protocols. */
export function operationsByTag({ paths }: ApiDocument): ReadonlyMap<string, readonly PlacedOperation[]> {
  const groups = new Map<string, PlacedOperation[]>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? "";
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation }]);
    }
  return new Map([...groups].sort(([one], [other]) => OF_ALL.indexOf(one) - OF_ALL.indexOf(other)));
}

/** Checks for a tag of operations that belong to no model. */
export function isOfAll(tag: string): boolean {
  return OF_ALL.includes(tag);
}

const OF_ALL = [
  ...["KServe V2", "TensorFlow Serving", "OpenAI", "Anthropic", "Ollama", "SageMaker", "PredictJSON"],
  ...["Simple TensorFlow Serving", "Server"],
];

const INDENT = "  ";
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g;

/** JSON in lines, with every number as it was written; a text that is no JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let indent = "\n";
  return text.replace(TOKENS, (token) => {
    if (token === "{" || token === "[") {
      indent += INDENT;
      return token + indent;
    }
    if (token === "}" || token === "]") {
      indent = indent.slice(0, -INDENT.length);
      return indent + token;
    }
    if (token === ",") return token + indent;
    if (token === ":") return ": ";
    return token.trim().replace(/^([{[])\s+/, "$1");
  });
}
