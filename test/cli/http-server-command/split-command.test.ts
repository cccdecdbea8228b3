import { expect, test } from "vitest";
import { splitCommand } from "../../../src/cli/http-server-command/split-command.ts";

test.each([
  ["front", ["front"]],
  ["  front  --port {http_port} ", ["front", "--port", "{http_port}"]],
  [`node -e 'console.log("a b")' x`, ["node", "-e", 'console.log("a b")', "x"]],
  [`"/my programs/front" --title="it's on"`, ["/my programs/front", "--title=it's on"]],
  [`front ''`, ["front", ""]],
])("%s is split into words", (commandLine, words) => {
  expect(splitCommand(commandLine)).toEqual(words);
});

test.each([
  ["  ", "--http-server-command is empty"],
  [`front "a`, "has a quote that is not closed"],
  [`front it's`, "has a quote that is not closed"],
])("%j is refused", (commandLine, message) => {
  expect(() => splitCommand(commandLine)).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
  );
});
