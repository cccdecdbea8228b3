import { expect, test } from "vitest";
import { createRuntimesCommand } from "../../../src/cli/commands/runtimes-command.ts";

test.each(["install", "remove"])("kserving runtimes %s refuses a second folder", async (command) => {
  const argv = [command, "openvino", "--dir", "a", "--dir=b"];
  await expect(createRuntimesCommand().parseAsync(argv, { from: "user" })).rejects.toMatchObject({
    code: "invalid_argument",
    message: '--dir is given "a" and "b"; it takes one value, give it once.',
  });
});
