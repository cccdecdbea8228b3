import { Argument, Command, type CommanderError, Option } from "commander";
import { expect, test } from "vitest";
import { usageText } from "../../../src/cli/settings/parse-settings.ts";

/** Commander's own error for these words. */
function textOf(...words: string[]): string {
  const command = new Command("toy")
    .addArgument(new Argument("<target>").choices(["docker", "helm"]))
    .addOption(new Option("-f, --format <form>").choices(["json", "table"]))
    .configureOutput({ outputError: () => {} })
    .exitOverride();
  try {
    command.parse(words, { from: "user" });
  } catch (reason) {
    return (reason as CommanderError).message;
  }
  return "";
}

test.each([
  [[], "The argument target is missing"],
  [["dockr"], 'There is no target "dockr". Did you mean "docker"? Expected one of docker, helm'],
  [["nomad"], 'There is no target "nomad". Expected one of docker, helm'],
  [["helm", "--format", "jsn"], '--format is "jsn". Did you mean "json"? Expected one of json, table'],
  [["helm", "--format"], "option '-f, --format <form>' argument missing"],
])("%j is told what was expected", (words, expected) => {
  expect(usageText(textOf(...words))).toBe(expected);
});
