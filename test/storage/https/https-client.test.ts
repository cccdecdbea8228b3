import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openStorage } from "../open-storage.ts";
import { makeTarball } from "../runtimes/make-tarball.ts";
import { startWeb } from "../start-web.ts";

test("an archive is unpacked, and a folder that is alone in it stands for its content", async () => {
  const tarball = makeTarball([
    { name: "resnet/1/", text: "", type: "5" },
    { name: "resnet/1/a.onnx", text: "one" },
    { name: "resnet/1/b/c.bin", text: "two" },
  ]);
  const url = await startWeb((_, response) =>
    response.writeHead(200, { "content-length": tarball.length }).end(tarball),
  );
  const { path } = await openStorage().fetch(`${url}/resnet.tar.gz`);
  expect(readdirSync(path).sort()).toEqual(["a.onnx", "b"]);
  expect(readFileSync(`${path}/b/c.bin`, "utf8")).toBe("two");
});

test("a server without HEAD, lengths and parts is read too", async () => {
  const url = await startWeb((request, response) => {
    if (request.method === "HEAD") return response.writeHead(405).end();
    response.write("mo");
    return response.end("del");
  });
  const { path } = await openStorage().fetch(`${url}/m.onnx`);
  expect(readFileSync(path, "utf8")).toBe("model");
});

test.each([
  ["a length", { "content-length": "10" }, /came with \d+ bytes; expected 10/],
  ["none", {}, /m\.onnx has more than 9\.8 KB\. Raise --model-cache-size/],
])("of an answer without an end to a file with %s, little is written", async (_, head, message) => {
  const mostSent = 50e6;
  let sent = 0;
  const url = await startWeb((request, response) => {
    if (request.method === "HEAD") return response.writeHead(200, head).end();
    const more = () => {
      while (sent < mostSent && !response.destroyed) {
        sent += 1e5;
        if (!response.write(Buffer.alloc(1e5))) return response.once("drain", more);
      }
      return response.destroy();
    };
    return more();
  });
  const { fetch, folder } = openStorage({ maxBytes: 10_000 });
  await expect(fetch(`${url}/m.onnx`)).rejects.toThrow(message);
  expect(sent).toBeLessThan(mostSent);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name)).toEqual(["source"]);
});

test("user and password are sent, to this server alone, and stand in no message", async () => {
  const seen: (string | undefined)[] = [];
  const other = await startWeb((request, response) => {
    seen.push(request.headers.authorization);
    response.end("elsewhere");
  });
  const url = await startWeb((request, response) => {
    if (request.headers.authorization !== `Basic ${btoa("ann:50%geheim")}`) return response.writeHead(401).end();
    return response.writeHead(302, { location: `${other}/m.onnx?token=t0p` }).end();
  });
  const { fetch, events } = openStorage();
  const { path } = await fetch(`${url.replace("//", "//ann:50%geheim@")}/m.onnx?sig=s3cret`);
  expect(readFileSync(path, "utf8")).toBe("elsewhere");
  expect(new Set(seen)).toEqual(new Set([undefined]));
  expect(JSON.stringify(events)).not.toMatch(/geheim|s3cret|t0p/);
  const refused = fetch(`${url.replace("//", "//ann:falsch@")}/m.onnx?sig=s3cret`);
  await expect(refused).rejects.toThrow(/m\.onnx cannot be read: the server answers 401\. Give user and password/);
  await expect(refused).rejects.not.toThrow(/falsch|s3cret/);
});

test.each([
  ["http://models.example.com/m.onnx", /is not encrypted; expected https:\/\/, or #sha256=HEX/],
  ["https://models.example.com/folder/", /is a folder of a web server/],
  ["https://models.example.com/50%.onnx", /the name "50%\.onnx" has a "%" that encodes nothing; expected %25/],
  ["https://a.blob.core.windows.net/models/50%.onnx", /the name "50%\.onnx" has a "%" that encodes nothing/],
  ["https://models.example.com/m.onnx#md5=1", /has "#" in it; expected #sha256= and 64 hexadecimal digits/],
])("%s is refused", async (address, message) => {
  await expect((async () => openStorage().fetch(address))()).rejects.toThrow(message);
});

test("redirects without end are an error", async () => {
  const url = await startWeb((request, response) => response.writeHead(302, { location: request.url ?? "" }).end());
  await expect(openStorage().fetch(`${url}/m.onnx`)).rejects.toThrow(/redirects without end/);
});

test("a checksum in the address makes it one file, whose content may not change", async () => {
  const url = await startWeb((_, response) => response.end("model"));
  const digest = createHash("sha256").update("model").digest("hex");
  const { path } = await openStorage().fetch(`${url}/m.onnx#sha256=${digest}`);
  expect(readFileSync(path, "utf8")).toBe("model");
});

test.each(["s3cr@t2", "s3cr/t2", "s3cr?t2", "s3cr#t2"])("of the password %s nothing is shown", async (word) => {
  const url = await startWeb((_, response) => response.writeHead(401).end());
  const error = (async () => openStorage().fetch(`${url.replace("//", `//bob:${word}@`)}/m.onnx`))();
  await expect(error).rejects.toThrow(/http:\/\/127\.0\.0\.1:\d+\/m\.onnx (?:cannot be read|is not a URL|has "#")/);
  await expect(error).rejects.not.toThrow(/s3cr|t2|bob/);
});
