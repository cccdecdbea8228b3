import { useState } from "preact/hooks";
import type { ApiDocument, PlacedOperation, Schema } from "./api-document.ts";
import { OperationForm } from "./operation-form.tsx";
import { schemaText } from "./schema-text.ts";

interface OperationProps {
  readonly placed: PlacedOperation;
  readonly document: ApiDocument;
}

/** One call: what it takes, what it answers, and a form that sends it. */
export function OperationView({ placed, document }: OperationProps) {
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
