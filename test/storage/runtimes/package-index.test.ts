import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { devNull } from "node:os";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findIndexUrl, listIndexFiles } from "../../../src/storage/runtimes/package-index.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startWeb } from "../start-web.ts";
import { startIndex } from "./start-index.ts";

const { signal } = new AbortController();
const WHEEL = "toy-1.0-cp313-cp313-win_amd64.whl";

/** A server that gives one answer to whatever it is asked. */
async function answering(status: number, type: string, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status, { "content-type": type }).end(body));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([true, false])("reads names, addresses and hashes (JSON: %s)", async (json) => {
  const { url } = await startIndex({ project: "toy", files: { [WHEEL]: Buffer.from("x") }, json });
  const file = {
    name: WHEEL,
    url: `${new URL(url).origin}/files/${WHEEL}`,
    sha256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
    yanked: false,
  };
  expect(await listIndexFiles(url, "toy", signal)).toEqual([file]);
  expect(await listIndexFiles(`${url}//`, "toy", signal)).toEqual([file]);
});

test("reads HTML with entities, other attributes and no hash", async () => {
  const page = `<html><a data-yanked="bad &lt;b&gt;" HREF='/f?a=1&amp;b=2'>a.whl</a><a name="top">x</a></html>`;
  const origin = await answering(200, "text/html; charset=utf-8", page);
  expect(await listIndexFiles(origin, "toy", signal)).toEqual([
    { name: "a.whl", url: `${origin}/f?a=1&b=2`, sha256: undefined, yanked: true },
  ]);
});

test("an index that wants a password gets it for its pages and its files, and no message shows it", async () => {
  const { url } = await startIndex({ project: "toy", files: { [WHEEL]: Buffer.from("x") }, password: "me:secret" });
  const [file] = await listIndexFiles(url, "toy", signal);
  expect(new URL(file!.url).password).toBe("secret");
  const wrong = listIndexFiles(url.replace("secret", "guess"), "toy", signal);
  await expect(wrong).rejects.toThrow("answers 401: it wants a user and password");
  await expect(wrong).rejects.not.toThrow("guess");
});

test("a password goes to the index's own host alone", async () => {
  const origin = await answering(200, "text/html", `<html><a href="http://files.example/a.whl">a.whl</a></html>`);
  const [file] = await listIndexFiles(origin.replace("//", "//me:secret@"), "toy", signal);
  expect(file?.url).toBe("http://files.example/a.whl");
});

test("a project that is not there is named", async () => {
  const { url } = await startIndex({ project: "toy", files: {} });
  await expect(listIndexFiles(url, "other", signal)).rejects.toThrow(
    "has no other. PIP_INDEX_URL chooses another index",
  );
});

test.each([
  ["text", 200, "text/plain", "hello", "is not a package index"],
  ["other JSON", 200, "application/json", '{"files": 1}', "is not a package index"],
  ["broken JSON", 200, "application/json", "{", "is not a package index"],
  ["a failure", 503, "text/html", "busy", "answers 503. Try again later."],
])("refuses an index that answers with %s", async (_, status, type, body, message) => {
  const origin = await answering(status, type, body);
  await expect(listIndexFiles(origin, "toy", signal)).rejects.toThrow(message);
});

test("redirects of an index are followed, and its relative addresses begin where they lead", async () => {
  const origin = await startWeb(({ url = "" }, response) => {
    if (url === "/simple/toy/") response.writeHead(301, { location: "/mirror/deep/toy/" }).end();
    else response.writeHead(200, { "content-type": "text/html" }).end('<html><a href="../a.whl">a.whl</a></html>');
  });
  const [file] = await listIndexFiles(`${origin}/simple`, "toy", signal);
  expect(file?.url).toBe(`${origin}/mirror/deep/a.whl`);
});

test("an index that redirects without end is named with the reason", async () => {
  const origin = await startWeb((_, response) => response.writeHead(302, { location: "/simple/toy/" }).end());
  const { host } = new URL(origin);
  await expect(listIndexFiles(`${origin}/simple`, "toy", signal)).rejects.toThrow(
    `The package index ${host} cannot be reached: ${host} redirects without end.`,
  );
});

test("an index that cannot be reached is named with the reason", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await expect(listIndexFiles(`http://127.0.0.1:${port}/simple`, "toy", signal)).rejects.toThrow(
    `The package index 127.0.0.1:${port} cannot be reached: ECONNREFUSED.`,
  );
});

const CONFIG = `
[global]
cert = /etc/ssl/ca.pem
index-url = https://mirror.example/simple
extra-index-url = https://other.example/simple
; index-url = https://comment.example/simple
[list]
index-url = https://list.example/simple
`;

function configFile(text: string): string {
  return `${tempFolder({ "pip.conf": text })}/pip.conf`;
}

test("the index is that of PIP_INDEX_URL", () => {
  const env = { PIP_INDEX_URL: "http://index.example/simple", PIP_CONFIG_FILE: configFile(CONFIG) };
  expect(findIndexUrl(env)).toBe("http://index.example/simple");
});

test("else that of the file that PIP_CONFIG_FILE names", () => {
  expect(findIndexUrl({ PIP_CONFIG_FILE: configFile(CONFIG) })).toBe("https://mirror.example/simple");
});

test("the section of the command that pip would run comes before the global one, in another spelling too", () => {
  const text = `${CONFIG}\n[download]\nindex_url: https://download.example/simple\n`;
  expect(findIndexUrl({ PIP_CONFIG_FILE: configFile(text) })).toBe("https://download.example/simple");
});

test("a Python environment has a file of its own", () => {
  expect(findIndexUrl({ VIRTUAL_ENV: dirname(configFile(CONFIG)) })).toBe("https://mirror.example/simple");
});

test("no file counts where PIP_CONFIG_FILE is the null device", () => {
  const env = { PIP_CONFIG_FILE: devNull, VIRTUAL_ENV: dirname(configFile(CONFIG)) };
  expect(findIndexUrl(env)).toBe("https://pypi.org/simple");
});

test("a refused address does not show its password", () => {
  expect(() => findIndexUrl({ PIP_INDEX_URL: "htps://me:sec@ret@index.example/simple" })).toThrow(
    'The package index is "htps://***@index.example/simple"',
  );
});

test.each(["ftp://index.example/simple", "index.example", "http://"])("refuses %s", (url) => {
  expect(() => findIndexUrl({ PIP_INDEX_URL: url })).toThrow(`The package index is "${url}"`);
});
