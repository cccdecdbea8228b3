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

test("a token that could be guessed, or that no client can send, is not hashed", () => {
  expect(() => hashToken("short")).toThrow("expected 32 or more");
  expect(() => hashToken("with a space".repeat(4))).toThrow("letters, digits");
});
