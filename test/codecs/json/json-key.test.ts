import { expect, test } from "vitest";
import { JsonCursor } from "../../../src/codecs/json/json-cursor.ts";
import { readKey } from "../../../src/codecs/json/json-key.ts";

function read(json: string): readonly [key: string, end: number] {
  const cursor = new JsonCursor(Buffer.from(`${json}:`));
  return [readKey(cursor), cursor.pos];
}

test("reads a name again and again, also after another of the same length and outer letters", () => {
  for (const name of ["instances", "inputs", "instances", "i-and-s", "i_and_s", "i-and-s", "x", "", "x"]) {
    expect(read(`"${name}"`)).toEqual([name, name.length + 2]);
  }
});

test.each(["é", "a\\b", "日本", "n".repeat(65), "__proto__"])("reads the name %j like any other string", (name) => {
  const json = JSON.stringify(name);
  for (let round = 0; round < 2; round++) expect(read(json)).toEqual([name, Buffer.byteLength(json)]);
});

test("refuses a name without an end", () => {
  expect(() => read('"instances')).toThrow("Missing a closing quotation mark in string.");
});
