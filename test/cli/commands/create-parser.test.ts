import { expect, test } from "vitest";
import { collect, createParser, runParser } from "../../../src/cli/commands/create-parser.ts";

function createToy() {
  return createParser("toy", { description: "Does nothing.", epilogue: "" })
    .option("--input <value>", "a value; repeatable", collect, [])
    .option("--seed <number>", "a seed", "0");
}

test("help has the defaults of flags, but no empty list for one that may be repeated", () => {
  const help = createToy().helpInformation();
  expect(help).toContain('a seed (default: "0")');
  expect(help).not.toContain("[]");
});

test("a flag that takes one value is refused where it is given twice, one that may be repeated is not", async () => {
  const toy = createToy();
  await runParser(toy, ["--input", "1", "--input", "2"]);
  expect(toy.opts()).toEqual({ input: ["1", "2"], seed: "0" });
  const twice = runParser(createToy(), ["--seed", "1", "--seed", "2"]);
  await expect(twice).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("--seed") });
});
