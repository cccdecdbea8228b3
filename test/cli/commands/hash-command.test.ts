import { expect, test } from "vitest";
import { hashToken } from "../../../src/access/authentication/credential-files.ts";
import { matchesHash, parsePasswordHash } from "../../../src/access/authentication/password-hash.ts";
import { startAtTerminal } from "../start-kserving.ts";
import { runCommand } from "./run-command.ts";

test("a password is asked for twice and not shown", async () => {
  const program = startAtTerminal(["hash-password", "alice"]);
  await program.output(/Password of alice: /);
  program.type("open sesamy\u007fe\r");
  await program.output(/Again: /);
  program.type("open sesame\r");
  const [, hash = ""] = await program.output(/alice:(\S+)/);
  expect(await matchesHash("open sesame", parsePasswordHash(hash))).toBe(true);
  expect((await program.ended()).stdout).not.toContain("sesam");
});

test("a token is made, shown once, and kept as its hash", async () => {
  const { stdout } = await startAtTerminal(["hash-token", "ci"]).ended();
  const [, token = "", hash] = /^(\S+)\s+ci:(\S+)/.exec(stdout) ?? [];
  expect(hashToken(token)).toBe(hash);
});

test("a name that no line could have is refused", async () => {
  expect(await runCommand(["hash-password", "a:b"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("colon"),
  });
});
