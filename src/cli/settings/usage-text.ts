import { didYouMean } from "../../text/nearest.ts";

const MISSING = /^missing required argument '(.+)'$/;
const ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.+)'\. Allowed choices are (.+)$/s;
const FLAG = /^option '(?:-\w, )?(--[\w-]+).*' argument '(.*)' is invalid\. Allowed choices are (.+)$/s;

/** Commander's text of an error as messages of ours are: what was wrong, the nearest choice, and all of them. */
export function usageText(text: string): string {
  const plain = text.replace(/^error: |\.$/g, "").replace("\n", " ");
  const [, missing] = MISSING.exec(plain) ?? [];
  if (missing !== undefined) return `The argument ${missing} is missing`;
  const [, value = "", name, choices = ""] = ARGUMENT.exec(plain) ?? [];
  if (name !== undefined) return `There is no ${name} "${value}".${nearest(value, choices)} Expected one of ${choices}`;
  const [, flag, given = "", known = ""] = FLAG.exec(plain) ?? [];
  if (flag !== undefined) return `${flag} is "${given}".${nearest(given, known)} Expected one of ${known}`;
  return plain;
}

function nearest(value: string, choices: string): string {
  return didYouMean(value, choices.split(", "));
}
