import { expect, test } from "vitest";
import { splitForm } from "../../src/protocols/split-form.ts";

const TYPE = "multipart/form-data; boundary=limit";
const END = "--limit--\r\n";

function part(name: string, file: string, value: string): string {
  return `--limit\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
}

test.each([
  ["a file", '; filename="a"'],
  ["a text", ""],
])("a form is read to its end, and fails at once if %s begins behind it that has no end", async (_, file) => {
  const body = `${part("x", "", "1")}${END}${part("y", "", "2")}${part("late", file, "3")}`;
  const read = splitForm(Buffer.from(body), TYPE);
  if (file === "") expect((await read).texts).toEqual(new Map([["x", ["1"]]]));
  else await expect(read).rejects.toThrow("The form cannot be read: there is a part behind its end.");
});

test("large files of a form are whole", async () => {
  const sizes = [3_000_000, 0, 200_000, 1];
  const bodies = sizes.map((size, index) => part(`f${index}`, `; filename="${index}"`, "x".repeat(size)));
  const { files } = await splitForm(Buffer.from(bodies.join("") + END), TYPE);
  expect([...files.values()].map(([file]) => file?.length)).toEqual(sizes);
});
