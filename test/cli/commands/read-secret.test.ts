import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readSecret } from "../../../src/cli/commands/hash-command.ts";

const input = (...pieces: string[]) => Readable.from(pieces) as unknown as NodeJS.ReadStream;

test("a secret is the whole input but for the line break at its end", async () => {
  expect(await readSecret("", input("open ", "sesame\n"))).toBe("open sesame");
  expect(await readSecret("", input(" two\nlines \r\n"))).toBe(" two\nlines ");
});

test("nothing, and much more than a secret, is refused", async () => {
  await expect(readSecret("", input("\n"))).rejects.toThrow("Nothing was given");
  await expect(readSecret("", input("x".repeat(5000)))).rejects.toThrow("4096");
});
