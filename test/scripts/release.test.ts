import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Names in the order of their publication. */
const NAMES = ["kserving-client", "kserving-tensorflow", "kserving", "create-kserving"];
const FOLDERS = ["packages/client", "packages/tensorflow", ".", "packages/create"];
const manifests = FOLDERS.map((folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const asked: string[] = [];
let said = "";

/** Runs the release against a registry that has an older client, and nothing else. */
beforeAll(async () => {
  const registry = createServer(({ method, url = "" }, response) => {
    asked.push(`${method} ${url}`);
    const isThere = url === "/kserving-client";
    response.writeHead(isThere ? 200 : 404, { "content-type": "application/json" });
    const versions = { "0.0.9": { name: "kserving-client", version: "0.0.9" } };
    response.end(
      JSON.stringify(isThere ? { name: "kserving-client", "dist-tags": { latest: "0.0.9" }, versions } : {}),
    );
  });
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  const { GITHUB_REPOSITORY: _, ACTIONS_ID_TOKEN_REQUEST_URL: __, SIGSTORE_ID_TOKEN: ___, ...env } = process.env;
  const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  const cache = mkdtempSync(join(tmpdir(), "kserving-release-"));
  const run = promisify(execFile)(process.execPath, ["node_modules/.bin/tsx", "scripts/release.ts", "--dry-run"], {
    env: {
      ...env,
      ...{ npm_config_registry: address, npm_config_cache: cache, npm_config_fetch_retries: "0" },
      npm_config_update_notifier: "false",
    },
  });
  said = (await run).stdout;
  registry.close();
  rmSync(cache, { recursive: true });
});

test("each package is named with its version, what the registry has of it, and its contents", () => {
  const heads = [...said.matchAll(/^(\S+) (\d+\.\d+\.\d+): (.+)$/gm)].map(([, ...head]) => head);
  const states = NAMES.map((name) => (name === "kserving-client" ? "new, after 0.0.9" : "a new name on the registry"));
  expect(heads).toEqual(NAMES.map((name, index) => [name, version, states[index]]));
  const contents = [...said.matchAll(/^ {2}(\d+) files, (\d+) KB packed, (\d+) KB unpacked\n {2}(\S+)\n {2}(.+)$/gm)];
  expect(contents).toHaveLength(NAMES.length);
  for (const [, files, packed, unpacked, integrity, tops = ""] of contents) {
    expect(Number(files)).toBeGreaterThan(3);
    expect(Number(unpacked)).toBeGreaterThan(Number(packed));
    expect(integrity).toMatch(/^sha512-/);
    expect(tops.split(", ")).toEqual(
      expect.arrayContaining([expect.stringMatching(/^dist\/ \(\d+\)$/), "LICENSE", "README.md", "package.json"]),
    );
  }
});

test("what would be pushed is said in its order, signed, and what others name is there before them", () => {
  const pushed = [...said.matchAll(/^ {2}npm publish( \.\S+)? --/gm)].map(([, folder = " ."]) => folder.trim());
  expect(pushed).toEqual(["./packages/client", "./packages/tensorflow", ".", "./packages/create"]);
  const flags = [...said.matchAll(/^ {2}npm publish(?: \.\S+)? (.*)$/gm)].map(([, text]) => text);
  expect(new Set(flags)).toEqual(new Set(["--ignore-scripts --access=public --provenance"]));
  expect(said).toMatch(/each signed with the provenance of this commit \([0-9a-f]{7,}\):/);
});

test("what is missing is said, with what to do, and no repository is made up", () => {
  const problems = [...said.matchAll(/^Not yet: (.+)$/gm)].map(([, text]) => text);
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^Provenance is signed in a workflow run with id-token: write: gh workflow run release\.yml/,
      ),
    ]),
  );
  const lacking = manifests.some(({ repository }) => !repository?.url);
  const named = problems.filter((text) => /^Provenance needs the repository in .*OWNER\/NAME/.test(text ?? ""));
  expect(named).toHaveLength(lacking ? 1 : 0);
});

test("the repository that the publisher names is written into each package.json, and nothing else changes", async () => {
  const copy = tempFolder();
  for (const folder of FOLDERS) {
    mkdirSync(join(copy, folder), { recursive: true });
    cpSync(join(folder, "package.json"), join(copy, folder, "package.json"));
  }
  const script = [resolve("node_modules/.bin/tsx"), resolve("scripts/release.ts"), "--repository"];
  const write = (address: string) => promisify(execFile)(process.execPath, [...script, address], { cwd: copy });
  await expect(write("acme/models")).rejects.toThrow("expected its address, such as https://github.com/OWNER/NAME");
  await write("https://example.com/acme/models.git");
  const url = "git+https://example.com/acme/models.git";
  FOLDERS.forEach((folder, index) => {
    const repository = { type: "git", url, ...(folder !== "." && { directory: folder }) };
    const text = readFileSync(join(copy, folder, "package.json"), "utf8");
    expect(text).toBe(`${JSON.stringify({ ...manifests[index], repository }, undefined, 2)}\n`);
  });
});

test("nothing is pushed", () => {
  expect(said).toMatch(/\nNothing was pushed: --dry-run\.\n$/);
  expect(new Set(asked)).toEqual(new Set(NAMES.map((name) => `GET /${name}`)));
});
