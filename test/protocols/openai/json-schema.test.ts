import { expect, it } from "vitest";
import { checkJson } from "../../../src/protocols/openai/json-schema.ts";

const TREE = {
  $defs: { node: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } } } },
  $ref: "#/$defs/node",
};
const PERSON = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 3 },
    age: { type: ["integer", "null"], minimum: 0, exclusiveMaximum: 200 },
    tags: { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2 },
  },
  required: ["name"],
  additionalProperties: false,
};

it.each([
  [PERSON, { name: "Ann", age: 5, tags: ["a"] }],
  [PERSON, { name: "😀😀😀", age: null }],
  [TREE, { next: { next: null } }],
  [{ oneOf: [{ type: "string" }, { const: 5 }] }, 5],
  [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1, 2]],
  [{ additionalProperties: { type: "number" } }, { any: 1 }],
  [{ $ref: "https://elsewhere/schema" }, { any: 1 }],
  [{ type: "string", pattern: "^(a+)+$" }, "not checked"],
  [true, "all"],
  [{ type: 5, enum: "x", required: "x", properties: 5, anyOf: 5, $ref: 5, minimum: "x" }, {}],
])("%j takes %j", (schema, value) => {
  expect(() => checkJson(JSON.stringify(value), schema)).not.toThrow();
});

it.each([
  [PERSON, "{", "the answer is no JSON"],
  [PERSON, "[]", "the answer is not of the type object"],
  [PERSON, "{}", "name is missing"],
  [PERSON, '{"name":"Anna"}', "name has not the maxLength 3"],
  [PERSON, '{"name":"a","age":1.5}', "age is not of the type integer or null"],
  [PERSON, '{"name":"a","age":200}', "age has not the exclusiveMaximum 200"],
  [PERSON, '{"name":"a","tags":["c"]}', "tags[0] is none of the enum"],
  [PERSON, '{"name":"a","tags":[]}', "tags has not the minItems 1"],
  [PERSON, '{"name":"a","more":1}', "more is not to be there"],
  [TREE, '{"next":{"next":5}}', "next fits none of anyOf"],
  [{ oneOf: [{ type: "number" }, { type: "integer" }] }, "5", "the answer fits 2 of oneOf"],
  [{ prefixItems: [{ type: "string" }], items: false }, '["a",1]', "the answer[1] is not to be there"],
  [{ const: { a: 1 } }, '{"a":2}', "the answer is not the const"],
])("%j does not take %s", (schema, text, what) => {
  const message = `What the hook chat gave does not fit the JSON schema of the request: ${what}.`;
  expect(() => checkJson(text, schema)).toThrow(expect.objectContaining({ code: "internal", message }));
});

it("ends for a schema that would take forever", () => {
  const both = { anyOf: [{ $ref: "#/$defs/loop" }, { $ref: "#/$defs/loop" }] };
  expect(() => checkJson("1", { $defs: { loop: both }, ...both })).not.toThrow();
});
