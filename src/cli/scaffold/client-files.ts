import { guessExamples } from "../../tensor/signature/example-inputs.ts";
import type { DescribedModel } from "../client-types/typed-tensor.ts";
import { writeModelTypes } from "../client-types/write-model-types.ts";
import { exampleValue } from "../status-reporter/report-example.ts";
import type { Scaffold } from "./scaffold.ts";

/** Served models, and the address at which programs call them. */
export interface ClientSource {
  readonly address: string;
  /** Not empty. */
  readonly models: ReadonlyMap<string, DescribedModel>;
}

/** Up to so many elements an example is written out. */
const MAX_INLINE_ELEMENTS = 24;

/** A program that calls a server's models, and their types. */
export function clientFiles({ address, models }: ClientSource): Scaffold {
  // Node runs TypeScript by itself from 22.18 on.
  const start =
    "typescript" in process.features && process.features.typescript ? "node call.ts" : "npx --yes tsx call.ts";
  return {
    start,
    files: {
      "models.d.ts": writeModelTypes(models, address),
      "call.ts": programOf({ address, models }),
      "README.md": readme(address, start),
    },
  };
}

function programOf({ address, models }: ClientSource): string {
  const [[name, model]] = [...models] as [[string, DescribedModel]];
  const isProperty = /^[A-Za-z_]\w*$/.test(name) && name !== "then";
  const place = isProperty ? `.${name}` : `.$model(${JSON.stringify(name)})`;
  const close = address.startsWith("grpc") ? "\nmodels.$close();" : "";
  const inputs = `{ ${exampleMembers(model)} }`;
  const answer =
    model.decoupled === true
      ? `for await (const outputs of models${place}.stream(${inputs}))\n  `
      : `const outputs = await models${place}.predict(${inputs});\n`;
  return `import { connect } from "kserving/client";
import type { Models } from "./models.d.ts";

const models = connect<Models>(${JSON.stringify(address)});
${answer}for (const [name, { shape, data }] of Object.entries(outputs)) console.log(name, shape, data);${close}
`;
}

function exampleMembers({ inputs = [] }: DescribedModel): string {
  const specs = inputs.flatMap(({ name, dtype, shape = [], isOptional }) =>
    dtype === undefined || isOptional ? [] : [{ name, dtype, shape }],
  );
  const members = guessExamples(specs).map((input) => {
    const count = input.shape.reduce((product, size) => product * size, 1);
    return `${JSON.stringify(input.name)}: ${exampleValue(input, count > MAX_INLINE_ELEMENTS)}`;
  });
  return members.join(", ");
}

const readme = (address: string, start: string) => `# A client of served models

\`call.ts\` calls the models at ${address}; \`models.d.ts\` has their types, so that a wrong name is an error of the compiler.

    npm start           # ${start}
    npm install && npm run typecheck

Where the models change, write their types again: \`npx --no kserving client ${address} --out models.d.ts\`
`;
