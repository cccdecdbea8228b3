import type { Schema } from "./api-document.ts";

/** Labels of an output that are shown. */
const MAX_CHOICES = 12;
const INDENT = "  ";

/** A schema as a type of TypeScript, with known lengths of lists as comments. */
export function schemaText(schema: Schema, indent = ""): string {
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
