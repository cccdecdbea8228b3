import type { Random } from "../grpc/random.ts";

const TEXTS = ["", "plain", "é", "日本", "😀", 'quote " and \\ and /', "line\nbreak\ttab", "\u0000\u001f", "__proto__"];

/** JSON text of every kind of value, to a depth of five, with white space here and there. */
export function randomJson(random: Random, depth = 5): string {
  const kind = random.below(depth === 0 ? 5 : 10);
  const space = random.pick(["", "", "", " ", "\n", "\t "]);
  if (kind === 0) return `${space}${random.pick(["null", "true", "false"])}${space}`;
  if (kind === 1) return `${space}${randomString(random)}${space}`;
  if (kind < 5) return `${space}${randomNumber(random)}${space}`;
  if (kind < 7) return `${space}[${list(random, () => randomNumber(random))}]`;
  if (kind < 9) return `[${list(random, () => randomJson(random, depth - 1))}]${space}`;
  return `{${list(random, () => `${randomString(random)}${space}:${randomJson(random, depth - 1)}`)}}`;
}

/** A number's text in every form that JSON has. */
export function randomNumber(random: Random): string {
  const digits = (most: number) => Array.from({ length: 1 + random.below(most) }, () => random.below(10)).join("");
  const whole = random.pick(["0", "0", String(random.below(1000)), `${1 + random.below(9)}${digits(20)}`]);
  const fraction = random.pick(["", "", `.${digits(6)}`, `.${digits(20)}`, `.000000${digits(17)}`]);
  const exponent = random.pick([
    "",
    "",
    "",
    "",
    `e${random.below(30)}`,
    `E+${random.below(30)}`,
    `e-${random.below(330)}`,
  ]);
  return random.pick(["", "", "-"]) + whole + fraction + exponent;
}

function randomString(random: Random): string {
  const text = random.pick(TEXTS) + random.pick(TEXTS);
  const json = JSON.stringify(text);
  return random.below(2) === 0
    ? json
    : json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function list(random: Random, element: () => string): string {
  return Array.from({ length: random.below(6) }, element).join(",");
}
