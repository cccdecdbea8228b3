import { useState } from "preact/hooks";
import {
  type ApiDocument,
  isOfAll,
  operationsByTag,
  type PlacedOperation,
  prettyJson,
  type Schema,
} from "./api-document.ts";
import { type BodyFiles, FileFields, withFiles } from "./body-files.tsx";
import { askServer, urlOf } from "./call-server.ts";
import { usePolled } from "./use-polled.ts";

/** Often enough for models that come and go. */
const EVERY_MS = 30_000;

/** The calls that the server answers, by its OpenAPI document, each to be tried. */
export function ApiPart() {
  const { value, error } = usePolled<ApiDocument>("docs/openapi.json", EVERY_MS);
  if (value === undefined)
    return error === undefined ? <p>Loading …</p> : <p role="alert">The server does not describe its calls.</p>;
  return (
    <div class="api">
      <p>
        The same for programs: <a href="v2/openapi.json">KServe V2</a>, as OpenAPI 3.1.
      </p>
      {[...operationsByTag(value)].map(([tag, operations]) => (
        <Group key={tag} tag={tag} operations={operations} document={value} />
      ))}
    </div>
  );
}

interface GroupProps {
  readonly tag: string;
  readonly operations: readonly PlacedOperation[];
  readonly document: ApiDocument;
}

/** The calls of a model, or those of a protocol, which are many and folded. */
function Group({ tag, operations, document }: GroupProps) {
  const list = operations.map((placed) => (
    <OperationView key={placed.operation.operationId} placed={placed} document={document} />
  ));
  const heading = <h2>{tag}</h2>;
  const folded = (
    <details>
      <summary>
        {heading} <span class="facts">{list.length}</span>
      </summary>
      {list}
    </details>
  );
  return <section aria-label={tag}>{isOfAll(tag) ? folded : [heading, list]}</section>;
}

interface OperationProps {
  readonly placed: PlacedOperation;
  readonly document: ApiDocument;
}

/** One call: what it takes, what it answers, and a form that sends it. */
function OperationView({ placed, document }: OperationProps) {
  const [isOpen, setOpen] = useState(false);
  const { method, path, operation } = placed;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code class="method">{method}</code> <code>{path}</code> <span>{operation.summary}</span>
      </summary>
      {isOpen && <Body placed={placed} document={document} />}
    </details>
  );
}

function Body({ placed, document }: OperationProps) {
  const { description, requestBody, responses, operationId } = placed.operation;
  const body = requestBody?.content["application/json"]?.schema;
  const [answer] = Object.values(responses["200"]?.content ?? {});
  return (
    <div class="operation">
      <p class="facts">{operationId}</p>
      {description !== undefined && <p>{description}</p>}
      {body !== undefined && <SchemaView title="Body" schema={body} document={document} />}
      {answer?.schema !== undefined && <SchemaView title="Answer" schema={answer.schema} document={document} />}
      <OperationForm placed={placed} />
    </div>
  );
}

interface SchemaProps {
  readonly title: string;
  readonly schema: Schema;
  readonly document: ApiDocument;
}

function SchemaView({ title, schema, document }: SchemaProps) {
  const text = schemaText(schema);
  const used = Object.entries(document.components.schemas).filter(([name]) => new RegExp(`\\b${name}\\b`).test(text));
  const others = used.map(([name, one]) => `type ${name} = ${schemaText(one)}\n`);
  return (
    <>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <pre tabIndex={0}>{[text, ...others].join("\n\n")}</pre>
    </>
  );
}

/** Labels of an output that are shown. */
const MAX_CHOICES = 12;
const INDENT = "  ";

/** A schema as a type of TypeScript, with known lengths of lists as comments. */
function schemaText(schema: Schema, indent = ""): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return choices(schema.enum);
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map((one) => schemaText(one, indent)))].join(" | ");
  if (schema.properties !== undefined) return objectText(schema, indent);
  if (schema.type === "array") return `${listOf(schemaText(schema.items ?? {}, indent))}${lengthOf(schema)}`;
  if (typeof schema.additionalProperties === "object")
    return `Record<string, ${schemaText(schema.additionalProperties, indent)}>`;
  return [schema.type ?? "unknown"].flat().map(nameOf).join(" | ");
}

function objectText({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = indent + INDENT;
  const lines = Object.entries(properties).map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const comment = member.description === undefined ? "" : ` // ${member.description}`;
    return `${inner}${key}${required.includes(name) ? "" : "?"}: ${schemaText(member, inner)};${comment}\n`;
  });
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
}

function listOf(element: string): string {
  return /[ |]/.test(element) && !element.startsWith("{") ? `(${element})[]` : `${element}[]`;
}

function lengthOf({ minItems, maxItems }: Schema): string {
  return minItems !== undefined && minItems === maxItems ? `/* ${minItems} */` : "";
}

function choices(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_CHOICES).map((value) => JSON.stringify(value));
  return [...shown, ...(values.length > MAX_CHOICES ? ["…"] : [])].join(" | ");
}

function nameOf(type: string): string {
  return type === "integer" ? "number" : type;
}

/** Longer answers are cut: the page is for people. */
const MAX_SHOWN = 20_000;
const MAX_LAID_OUT = 1_000_000;

interface Answered {
  readonly status: string;
  readonly text: string;
}

/** A form that sends a call and shows its answer, be it an error. */
function OperationForm({ placed }: { readonly placed: PlacedOperation }) {
  const { method, path, operation } = placed;
  const names = (operation.parameters ?? []).map(({ name }) => name);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [body, setBody] = useState(() => exampleOf(placed));
  const [files, setFiles] = useState<BodyFiles>(new Map());
  const [answered, setAnswered] = useState<Answered>();
  const [isSending, setSending] = useState(false);
  const hasBody = operation.requestBody !== undefined;
  const filled = path.slice(1).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const send = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setAnswered(await ask(filled, { method, ...(hasBody && { body: withFiles(body, files) }) }));
    setSending(false);
  };
  return (
    <form onSubmit={(event) => void send(event)} aria-label={`Try ${operation.summary}`}>
      <h3>Try it</h3>
      {names.map((name) => (
        <label key={name}>
          {name}
          <input
            value={values[name] ?? ""}
            required
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {hasBody && (
        <label>
          Body, as JSON
          <textarea
            rows={Math.min(20, body.split("\n").length + 1)}
            value={body}
            spellcheck={false}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </label>
      )}
      {body === exampleOf(placed) && operation.requestBody?.description !== undefined && (
        <p class="facts">{operation.requestBody.description}</p>
      )}
      {hasBody && (
        <FileFields
          body={body}
          onChange={(changed, { mark, base64 }) => {
            setFiles((before) => new Map(before).set(mark, base64));
            setBody(changed);
          }}
        />
      )}
      <div class="buttons">
        <button type="submit" disabled={isSending}>
          Send
        </button>
        <code>{urlOf(filled)}</code>
      </div>
      {answered !== undefined && (
        <section aria-label="Answer" aria-live="polite">
          <p>{answered.status}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
          <pre tabIndex={0}>{answered.text}</pre>
        </section>
      )}
    </form>
  );
}

function exampleOf({ operation: { requestBody } }: PlacedOperation): string {
  const { example = {} } = requestBody?.content["application/json"] ?? {};
  return JSON.stringify(example, null, 2);
}

async function ask(path: string, init: RequestInit): Promise<Answered> {
  const begin = performance.now();
  const headers = init.body === undefined ? {} : { "content-type": "application/json" };
  try {
    const response = await askServer(path, { ...init, headers });
    const text = await response.text();
    const ms = (performance.now() - begin).toFixed(1);
    return { status: `${response.status} ${response.statusText}, ${ms} ms`, text: shownOf(text) };
  } catch {
    return { status: "The server does not answer.", text: "" };
  }
}

/** The beginning of a text, in lines if it is JSON that is not too long for that. */
function shownOf(text: string): string {
  const lines = text.length > MAX_LAID_OUT ? text : prettyJson(text);
  return lines.length > MAX_SHOWN ? `${lines.slice(0, MAX_SHOWN)}…` : lines;
}
