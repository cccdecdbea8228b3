import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RemoteCredentials } from "../../../src/client/remote/remote-credentials.ts";
import { basic } from "../../access/auth-fixture.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("each server gets the credentials of its own line", async () => {
  const path = `${tempFolder({ auth: "# ours\na:9000 alice:open sesame\nB:9000  Bearer abc.def\n" })}/auth`;
  const credentials = await RemoteCredentials.open(path);
  expect(credentials.headerFor("a:9000")).toBe(basic("alice", "open sesame"));
  expect(credentials.headerFor("b:9000")).toBe("Bearer abc.def");
  expect(credentials.headerFor("a:9001")).toBeUndefined();
  writeFileSync(path, "a:9001 Bearer x");
  expect(await credentials.refresh()).toEqual([path]);
  expect([credentials.headerFor("a:9000"), credentials.headerFor("a:9001")]).toEqual([undefined, "Bearer x"]);
});

test.each(["secret", "a:9000", "a:9000 secret"])("a line that says %j is refused without being told", async (line) => {
  const opening = RemoteCredentials.open(`${tempFolder({ auth: line })}/auth`);
  await expect(opening).rejects.toThrow("auth:1: expected HOST:PORT USER:PASSWORD");
  await expect(opening).rejects.not.toThrow("secret");
});
