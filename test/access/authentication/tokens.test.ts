import { expect, test } from "vitest";
import { createToken, findToken, hashToken, openTokens } from "../../../src/access/authentication/credential-files.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("a token is found by its hash", async () => {
  const [first, second] = [createToken(), createToken()];
  const text = `# who\nci:${hashToken(first)}\r\n\n  cd : ${hashToken(second)}\n`;
  const { content } = await openTokens(`${tempFolder({ tokens: text })}/tokens`);
  expect([findToken(content, first), findToken(content, second)]).toEqual(["ci", "cd"]);
  expect(findToken(content, createToken())).toBeUndefined();
});

test.each([
  ["ci:secret", "tokens:1: the hash is not $sha256"],
  ["no colon", "tokens:1: expected NAME:HASH"],
  [`a:${hashToken("x".repeat(32))}\na:${hashToken("y".repeat(32))}`, "tokens:2: the name a stands here"],
])("a file that says %j is refused with its line", async (text, message) => {
  const opening = openTokens(`${tempFolder({ tokens: text })}/tokens`);
  await expect(opening).rejects.toThrow(message);
  await expect(opening).rejects.not.toThrow("secret");
});

const HASH = hashToken("x".repeat(32));

test.each([
  [`${"n".repeat(200)}:${HASH}`, `${"n".repeat(201)}:${HASH}`],
  [`a b:${HASH}`, `a\u0007b:${HASH}`],
  [`a:${HASH}`, `:${HASH}`],
  [`a: ${HASH}`, `a:${HASH}0`],
  [`  # a:b\na:${HASH}`, `a:x${HASH}`],
  [`a:${HASH}\n   \n`, `a:${HASH.slice(0, -1)}`],
  [`a:${HASH}\nb:${HASH}`, `a:${HASH.toUpperCase()}`],
])("a file that says %j is read, and not %j", async (good, bad) => {
  const open = (text: string) => openTokens(`${tempFolder({ tokens: text })}/tokens`);
  expect(findToken((await open(good)).content, "x".repeat(32))).toBeDefined();
  await expect(open(bad)).rejects.toThrow(/\/tokens:1: /);
});

test("a token that could be guessed, or that no client can send, is not hashed", () => {
  expect(() => hashToken("x".repeat(31))).toThrow("The token has 31 characters; expected 32 or more");
  expect(hashToken("x".repeat(32))).toMatch(/^\$sha256\$[0-9a-f]{64}$/);
  expect(hashToken("-._~+/=".repeat(5))).toBeDefined();
  for (const text of [" ", "x ", " x", "\u00e4", ":"])
    expect(() => hashToken(text.padStart(40, "x"))).toThrow("letters, digits");
  expect(() => hashToken(" ".padEnd(40, "x"))).toThrow("letters, digits");
  expect(createToken()).toMatch(/^[\w-]{43}$/);
});
