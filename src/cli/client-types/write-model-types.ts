import { plainElement } from "../../tensor/signature/example-inputs.ts";
import { categoriesNote, type DescribedModel, exampleColumns, type TypedTensor } from "./typed-tensor.ts";

const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;

/** Modules that have the client: the server's package, and that of the client alone. */
export type ClientModule = "kserving/client" | "kserving-client";

/** The TypeScript declarations of models by name, for `connect<Models>()`; `source` is their server or file. */
export function writeModelTypes(
  models: ReadonlyMap<string, DescribedModel>,
  source: string,
  client: ClientModule = "kserving/client",
): string {
  const body = [...models].map(([name, model]) => modelLines(name, model)).join("");
  const used = ["AnyModel", "In", "Out"].filter((name) => new RegExp(`\\b${name}\\b`).test(withoutTexts(body)));
  const imports = used.length === 0 ? "" : `import type { ${used.join(", ")} } from "${client}";\n\n`;
  const comment = source.replaceAll("*/", "* /");
  return `/** Written by \`kserving client\`; write it again where the models change. */\n${imports}/** The models of ${comment}. */\nexport interface Models {\n${body}}\n`;
}

function modelLines(name: string, model: DescribedModel): string {
  const { inputs, outputs, decoupled } = model;
  const members = [
    ["inputs", inputs, "In"],
    ["outputs", outputs, "Out"],
  ] as const;
  const lines = members.map(([member, tensors, type]) =>
    tensors === undefined ? `    ${member}: AnyModel["${member}"];\n` : tensorLines(member, tensors, type),
  );
  const note = decoupled === true ? "  /** Answers in parts: `stream(inputs)` gives them. */\n" : "";
  return `${exampleLine(model)}${note}  ${keyOf(name)}: {\n${lines.join("")}  };\n`;
}

/** A request by column, whose values are a guess. */
function exampleLine(model: DescribedModel): string {
  const columns = exampleColumns(model);
  if (columns === undefined) return "";
  const members = columns.map((input) => `${keyOf(input.name)}: [${JSON.stringify(plainElement(input))}]`);
  return `  // For example: predict({ ${onOneLine(members.join(", "))} })\n`;
}

/** JSON whose texts have no line breaks of JavaScript's, which would end a comment. */
function onOneLine(json: string): string {
  return json.replace(/[\u2028\u2029]/g, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
}

function tensorLines(member: string, tensors: readonly TypedTensor[], type: "In" | "Out"): string {
  if (tensors.length === 0) return `    ${member}: Record<string, never>;\n`;
  const lines = tensors.map(
    (tensor) =>
      `${categoriesLine(tensor)}      ${keyOf(tensor.name)}${tensor.isOptional ? "?" : ""}: ${typeOf(tensor, type)};\n`,
  );
  return `    ${member}: {\n${lines.join("")}    };\n`;
}

function categoriesLine(tensor: TypedTensor): string {
  const note = categoriesNote(tensor)?.replace("one", "One").replaceAll("*/", "* /");
  return note === undefined ? "" : `      /** ${note}. */\n`;
}

function typeOf({ dtype, shape }: TypedTensor, type: "In" | "Out"): string {
  if (dtype === undefined) return type;
  return shape === undefined ? `${type}<"${dtype}">` : `${type}<"${dtype}", [${shape.join(", ")}]>`;
}

/** A name, as a text if it is not an identifier; a text in JSON is one in TypeScript too. */
function keyOf(name: string): string {
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}

function withoutTexts(body: string): string {
  return body.replace(/^ *(?:"(?:[^"\\]|\\.)*"|[\p{ID_Continue}$]+)\??:/gmu, "");
}
