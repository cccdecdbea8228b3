import { expect, test } from "vitest";
import { splitCommand } from "../../../src/cli/settings/read-setting.ts";

test.each([
  ["front", ["front"]],
  ["  front  --port {http_port} ", ["front", "--port", "{http_port}"]],
  [`node -e 'console.log("a b")' x`, ["node", "-e", 'console.log("a b")', "x"]],
  [`"/my programs/front" --title="it's on"`, ["/my programs/front", "--title=it's on"]],
  [`front ''`, ["front", ""]],
])("%s is split into words", (commandLine, words) => {
  expect(splitCommand(commandLine)).toEqual(words);
});

test.each(["", "  ", "''", `front "a`, `front it's`])("%j is no command", (commandLine) => {
  expect(splitCommand(commandLine)).toBeUndefined();
});
