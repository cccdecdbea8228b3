import type { PageSignature, PageTensor } from "../protocols/page/page-data.ts";

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
