import { describe, expect, test } from "vitest";
import { hideFolders, hidePaths } from "../../../src/platform/text/hide-paths.ts";

describe("a text keeps no path of a file", () => {
  test.each([
    ["open /srv/models/a.onnx failed", "open (path) failed"],
    ["cannot read /srv/secret/labels now", "cannot read (path) now"],
    ["cannot read /srv/my secret/labels.txt now", "cannot read (path) now"],
    ["read /srv/my very secret folder/x.txt: gone", "read (path): gone"],
    ["Command failed: /opt/secret/run --now", "Command failed: (path) --now"],
    ["open '/srv/my models/a b' failed", "open '(path)' failed"],
    ['"/models/x/a.onnx", and (/tmp/a)', '"(path)", and ((path))'],
    ["at file:///home/me/hooks.ts:3:4", "at (path)"],
    ["Error:/srv/x/y.", "Error:(path)."],
    ['The model "/nowhere/at all" does not exist', 'The model "(path)" does not exist'],
    ["path=/etc/passwd", "path=(path)"],
    ["C:\\models\\a.onnx is gone", "(path) is gone"],
    ["C:\\Program Files\\my models\\a.onnx is gone", "(path) is gone"],
    ["\\\\nas\\share\\x is gone", "(path) is gone"],
    [`${process.cwd()} is gone`, "(path) is gone"],
  ])("%j", (text, shown) => {
    expect(hidePaths(text)).toBe(shown);
  });
});

describe("a text without folders keeps the names of files", () => {
  test.each([
    ["/srv/models/m/1/hooks.ts:2:5: no", "hooks.ts:2:5: no"],
    ['The model "/srv/my models/a.onnx" is cut short', 'The model "a.onnx" is cut short'],
    ["C:\\models\\a.onnx is gone", "a.onnx is gone"],
    ['The folder "/srv/models" is empty', 'The folder "(path)" is empty'],
    ["in /home/me/secret", "in (path)"],
    ["EACCES: scandir '/home/jane.doe'", "EACCES: scandir '(path)'"],
    ["node /conv1/Conv has no input", "node /conv1/Conv has no input"],
  ])("%j", (text, shown) => {
    expect(hideFolders(text)).toBe(shown);
  });
});

describe("a text keeps what only looks like a path", () => {
  test.each([
    "node /conv1/Conv has no input",
    'expected input "/conv1/Conv" of the model "a/b"',
    "expected float32/int64, 1 / 2, and/or",
    "see https://api.example.com/opt/x.html, or http://[::1]:80/srv/x.y",
    "POST /v1/models/x:predict",
    "labels/coco.txt and ./a/b.txt and ~/c.txt",
    "<b>bold</b>",
  ])("%j", (text) => {
    expect(hidePaths(text)).toBe(text);
  });

  test("and goes on behind a path", () => {
    expect(hidePaths("/srv/a.bin has float32/int64")).toBe("(path) has float32/int64");
  });
});

test("paths that are known are hidden whatever they look like, a bare word only in quotes", () => {
  const known = ["labels.txt", "my data/x"];
  expect(hidePaths("open 'labels.txt' or my data/x: labels.txt", known)).toBe("open '(path)' or (path): labels.txt");
});
