import { sizeText } from "../platform/text/size-text.ts";
import type { PageSignature, PageStage, PageTensor, PageVersion } from "../protocols/page/page-data.ts";

/** Inputs and outputs of every signature. */
export function SignatureTables({ signatures }: { readonly signatures: readonly PageSignature[] }) {
  return (
    <>
      {signatures.map(({ name, inputs, outputs }) => (
        <section key={name}>
          <h3>{signatures.length > 1 ? `Signature ${name}` : "Inputs and outputs"}</h3>
          <div class="pair">
            <Tensors caption="Inputs" tensors={inputs} absent="Any inputs are taken." />
            <Tensors caption="Outputs" tensors={outputs} absent="Not known before a request." />
          </div>
        </section>
      ))}
    </>
  );
}

interface TensorsProps {
  readonly caption: string;
  readonly tensors: readonly PageTensor[] | undefined;
  readonly absent: string;
}

function Tensors({ caption, tensors, absent }: TensorsProps) {
  if (tensors === undefined) return <p class="facts">{`${caption}: ${absent}`}</p>;
  return (
    <table>
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Shape</th>
        </tr>
      </thead>
      <tbody>
        {tensors.map((tensor) => (
          <tr key={tensor.name}>
            <th scope="row">{tensor.name}</th>
            <td>{`${tensor.datatype || "any"}${tensor.takesImages ? ", or an image" : ""}${tensor.isOptional ? ", optional" : ""}`}</td>
            <td>{shapeText(tensor)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shapeText({ shape }: PageTensor): string {
  return shape === undefined ? "any" : `[${shape.map((size) => (size < 0 ? "any" : size)).join(", ")}]`;
}

/** The way of a request through hooks and models, as a drawn chain. */
export function Chain({ of: { stages, hooks, maxBatchSize } }: { readonly of: PageVersion }) {
  const has = (hook: string) => hooks.includes(hook);
  return (
    <section aria-labelledby="chain">
      <h3 id="chain">Chain</h3>
      <ol class="chain">
        <li class="end">request</li>
        {has("process") && <Hook name="process" detail="calls the models" />}
        {stages.map((stage, index) => (
          <>
            {has(`preprocess ${index + 1}`) && <Hook name="preprocess" detail="hook" />}
            <Stage stage={stage} number={index + 1} />
            {has(`postprocess ${index + 1}`) && <Hook name="postprocess" detail="hook" />}
          </>
        ))}
        <li class="end">answer</li>
      </ol>
      {maxBatchSize > 0 && <p class="facts">Waiting requests run in batches of up to {maxBatchSize} rows.</p>}
    </section>
  );
}

function Hook({ name, detail }: { readonly name: string; readonly detail: string }) {
  return (
    <li class="hook">
      <strong>{name}</strong>
      <span class="facts">{detail}</span>
    </li>
  );
}

function Stage({ stage, number }: { readonly stage: PageStage; readonly number: number }) {
  const { driver, file, runtime, loadMs, memoryBytes } = stage;
  const memory = memoryBytes === undefined ? "" : `, ${sizeText(memoryBytes)}`;
  return (
    <li class="stage">
      <strong>{file === "" ? `model ${number}` : file}</strong>
      <span class="facts">{driver}</span>
      <span class="facts" title={runtime}>
        loaded in {Math.round(loadMs)} ms{memory}
      </span>
    </li>
  );
}
