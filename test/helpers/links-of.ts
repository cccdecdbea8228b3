import { readFileSync } from "node:fs";

/** The files to which a page links, relative to its folder. */
export function linksOf(page: string): string[] {
  const targets = [...readFileSync(page, "utf8").matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => target as string);
  return targets.filter((target) => !target.startsWith("http"));
}
