import { expect, test } from "vitest";
import { readConfigOverride } from "../../../src/serving/repository/client-overrides.ts";

const read = (json: string) => () => readConfigOverride(json, { name: "m", folder: "/models/m" });
const many = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join();

test("a client's configuration is JSON and not YAML", () => {
  expect(read('{"name": "m", "max_batch_size": 4}')().config.name).toBe("m");
  expect(read(`a: &x 1\nb: [${"*x,".repeat(20_000)}]`)).toThrow('config:1:1: "a" is not a value of JSON.');
});

test.each([
  [
    "keys that are none",
    `{${many(9_000, (at) => `"max_batch_${at}": 1`)}}`,
    /has no key "max_batch_0".*And at least 90 more\./s,
  ],
  ["more values than any model has", `{${many(15_000, (at) => `"k${at}": 1`)}}`, "There are more than 10000 values."],
  ["one key again and again", `{${many(9_000, () => '"name": "m"')}}`, 'The object has a second "name".'],
])("%s are refused", (_, json, message) => {
  expect(read(json)).toThrow(message);
});
