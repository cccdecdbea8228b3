import { type DescribedModel, exampleOf } from "../client-types/typed-tensor.ts";
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

/**
 * A program that calls a server's models, and their types. It is JavaScript for a Node before 22.18, which does not run
 * TypeScript by itself: nothing has to be installed. So it imports from the kserving that wrote it, which is linked and
 * takes no space; the client's package, which a program elsewhere needs in place of it, may not be on this machine.
 */
export function clientFiles(
  { address, models }: ClientSource,
  runsTypes = "typescript" in process.features && process.features.typescript !== false,
): Scaffold {
  const program = runsTypes ? "call.ts" : "call.mjs";
  return {
    start: `node ${program}`,
    about: {
      purpose: `A program that calls the models at ${address}, whose types are in models.d.ts.`,
      pages: ["client", "kserve"],
    },
    files: {
      "models.d.ts": writeModelTypes(models, address),
      [program]: programOf({ address, models }, runsTypes ? IN_TYPESCRIPT : IN_JAVASCRIPT),
      "README.md": readme(address, program),
    },
  };
}

/** The lines that connect to a server, by its address. */
type Beginning = (address: string) => string;

const IN_TYPESCRIPT: Beginning = (address) => `import { connect } from "kserving/client";
import type { Models } from "./models.d.ts";

const models = connect<Models>(${address});
`;

const IN_JAVASCRIPT: Beginning = (address) => `// @ts-check
import { connect } from "kserving/client";

/** @typedef {import("./models.d.ts").Models} Models */
const models = /** @type {import("kserving/client").Connection<Models>} */ (connect(${address}));
`;

function programOf({ address, models }: ClientSource, begin: Beginning): string {
  const [[name, model]] = [...models] as [[string, DescribedModel]];
  const isProperty = /^[A-Za-z_]\w*$/.test(name) && name !== "then";
  const place = isProperty ? `.${name}` : `.$model(${JSON.stringify(name)})`;
  const close = address.startsWith("grpc") ? "\nmodels.$close();" : "";
  const inputs = `{ ${exampleMembers(model)} }`;
  const answer =
    model.decoupled === true
      ? `for await (const outputs of models${place}.stream(${inputs}))\n  `
      : `const outputs = await models${place}.predict(${inputs});\n`;
  return `${begin(JSON.stringify(address))}${answer}for (const [name, { shape, data }] of Object.entries(outputs)) console.log(name, shape, data);${close}
`;
}

function exampleMembers(model: DescribedModel): string {
  const members = exampleOf(model).map((input) => {
    const count = input.shape.reduce((product, size) => product * size, 1);
    return `${JSON.stringify(input.name)}: ${exampleValue(input, count > MAX_INLINE_ELEMENTS)}`;
  });
  return members.join(", ");
}

const readme = (address: string, program: string) => `# A client of served models

\`${program}\` calls the models at ${address}; \`models.d.ts\` has their types, so that a wrong name is an error of the compiler.

    npm start           # node ${program}
    npm install && npm run typecheck

It has the client of the kserving that wrote it, by a link. Elsewhere the client's own package is enough, which is less
than 1 MB. Once it is published: after \`npm uninstall kserving && npm install kserving-client\` import from
\`kserving-client\` in both files. Until then \`npm ci && npm pack ./packages/client\` in a clone of kserving makes the file to install.

Where the models change, write their types again: \`npx --no kserving client ${address} --out models.d.ts\`
`;
