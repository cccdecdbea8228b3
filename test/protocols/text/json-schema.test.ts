import { expect, it } from "vitest";
import { checkJson } from "../../../src/protocols/text/json-schema.ts";

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
  [{ enum: [{ a: 1, b: [2] }, null] }, { b: [2], a: 1 }],
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
  [{ const: { a: [1] } }, '{"a":{"0":1}}', "the answer is not the const"],
  [{ enum: [{ a: 1 }, null] }, '{"a":1,"b":1}', "the answer is none of the enum"],
])("%j does not take %s", (schema, text, what) => {
  const message = `The answer does not fit the format that the request asks for: ${what}.`;
  expect(() => checkJson(text, schema)).toThrow(expect.objectContaining({ code: "failed_precondition", message }));
});

const LOOP = { anyOf: [{ $ref: "#/$defs/loop" }, { $ref: "#/$defs/loop" }] };
const MANY = Array(10_000);
const LONG = "x".repeat(250_000);
const LIST = JSON.stringify(Array(100_000).fill(1));
it.each([
  ["a schema that names itself twice", { $defs: { loop: LOOP }, ...LOOP }, "1"],
  ["a large value and a long enum", { enum: MANY.fill(0).map((_, index) => [index]) }, LIST],
  ["a large value and many schemas", { allOf: MANY.fill({ anyOf: [{ const: [0] }, {}] }) }, LIST],
  ["a long text and many schemas", { allOf: MANY.fill({ minLength: 1, maxLength: 1e9 }) }, JSON.stringify(LONG)],
  [
    "an object and many schemas",
    { allOf: MANY.fill({ additionalProperties: {} }) },
    `{${MANY.fill(0).map((_, index) => `"k${index}":1`)}}`,
  ],
  ["a deep value", { const: 1, enum: [[[[]]]] }, "[".repeat(100_000) + "]".repeat(100_000)],
  ["a long reference", { anyOf: MANY.fill({ $ref: `#/${"~1".repeat(20_000)}` }) }, "1"],
  ["more text than is checked", { type: "number" }, JSON.stringify("x".repeat(262_144))],
] as const)("ends for what would take forever: %s", (_, schema, text) => {
  try {
    checkJson(text, schema);
  } catch (reason) {
    expect(reason).toMatchObject({ code: "failed_precondition" });
  }
});

const NODE = { oneOf: [{ type: "object", properties: { next: { $ref: "#" } }, required: ["next"] }, { type: "null" }] };
const chain = (length: number, end: string) => '{"next":'.repeat(length) + end + "}".repeat(length);

it.each([
  ["a value as deep as is checked", NODE, chain(20, "null")],
  ["an anchor", { type: "object", properties: { a: { $ref: "#b" } }, required: ["a"] }, '{"a": 1}'],
  ["an anchor as one of several", { oneOf: [{ type: "number" }, { $ref: "#b" }] }, "1"],
  ["patterns of which one fits", { oneOf: [{ pattern: "^a" }, { pattern: "^b" }] }, '"b"'],
  ["a schema that is not to fit", { oneOf: [{ not: { type: "number" } }, { type: "number" }] }, "1"],
] as const)("what is not checked in the end is not refused: %s", (_, schema, text) => {
  checkJson(text, schema);
});

it.each([
  ["a chain with another end", NODE, chain(20, "1"), "fits 0 of oneOf"],
  ["two that fit", { oneOf: [{ type: "number" }, { minimum: 0 }] }, "1", "fits 2 of oneOf"],
  ["none that fits, one of them with a pattern", { oneOf: [{ type: "number", pattern: "a" }] }, "null", "fits 0 of"],
  ["too few members", { minProperties: 2 }, '{"a": 1}', "minProperties 2"],
  ["too many members", { maxProperties: 0 }, '{"a": 1}', "maxProperties 0"],
  [
    "an object that holds itself by a pointer",
    { properties: { a: { $ref: "#" } }, type: "object" },
    '{"a": 1}',
    "a is not",
  ],
] as const)("what is certain is refused: %s", (_, schema, text, place) => {
  expect(() => checkJson(text, schema)).toThrow(place);
});

// Where the check ends depends on what lies before: in one of these places it ends in the midst of oneOf.
it.each([0, 1, 2])("a value that is too deep below %i further schemas is not refused", (further) => {
  const schema = { $defs: { node: JSON.parse(JSON.stringify(NODE).replace('"#"', '"#/$defs/node"')) } };
  let inner: object = { $ref: "#/$defs/node" };
  for (let level = 0; level < further; level++) inner = { allOf: [inner] };
  checkJson(chain(90, "null"), { ...schema, ...inner });
});

it("more values than are looked at are not refused, wherever the check ends", () => {
  const schema = { type: "array", items: { oneOf: [{ type: "string" }, { type: "number" }] } };
  for (let count = 19_980; count < 20_000; count++) checkJson(JSON.stringify(Array(count).fill(1)), schema);
});
