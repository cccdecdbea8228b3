import { devNull } from "node:os";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { findIndexUrl } from "../../src/runtimes/index-url.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

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
