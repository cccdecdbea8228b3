import { type ApiDocument, operationsByTag, type PlacedOperation } from "./api-document.ts";
import { OperationView } from "./operation-view.tsx";
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

function Group({ tag, operations, document }: GroupProps) {
  return (
    <section aria-label={tag}>
      <h2>{tag}</h2>
      {operations.map((placed) => (
        <OperationView key={placed.operation.operationId} placed={placed} document={document} />
      ))}
    </section>
  );
}
