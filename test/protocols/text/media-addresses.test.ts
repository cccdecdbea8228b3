import OpenAI from "openai";
import { expect, it } from "vitest";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { startWeb } from "../../storage/start-web.ts";
import { textHooks } from "../openai/text-hooks.ts";

const models = () => ({ talk: { driver: "null", hooks: textHooks() } });
const serve = shareServer(() => ({ models: models(), fetchMedia: ["127.0.0.1:*"] }));

const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), Buffer.alloc(100_000, 7)]);
const WAV = Buffer.from("RIFF\0\0\0\0WAVE and more", "latin1");
const FILES: Readonly<Record<string, Buffer>> = { "/a.png": PNG, "/a.wav": WAV, "/page.png": Buffer.from("<html>") };

/** A server of files, whose types are all wrong. */
const files = () =>
  startWeb(({ url = "" }, response) => {
    if (url === "/moved") return response.writeHead(302, { location: "/a.png" }).end();
    if (url === "/inner") return response.writeHead(302, { location: "http://127.0.0.2/a.png" }).end();
    if (url === "/endless") {
      response.write(PNG);
      const more = () => response.write(Buffer.alloc(1_000_000), more);
      return more();
    }
    const file = FILES[url];
    response.writeHead(file === undefined ? 404 : 200, { "content-type": "image/tiff" }).end(file);
  });

interface Answered {
  readonly error: { readonly message: string; readonly param: string };
  readonly content: readonly [{ readonly text: string }];
}

async function post(path: string, body: object): Promise<{ status: number; body: Answered }> {
  const answer = await fetch((await serve()).httpUrl + path, { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, body: (await answer.json()) as Answered };
}

const text = { type: "text", text: "media" } as const;

it("OpenAI's client sends addresses of images, and the function gets the bytes in their places", async () => {
  const url = await files();
  const { httpUrl } = await serve();
  const client = new OpenAI({ baseURL: `${httpUrl}/v1`, apiKey: "any", maxRetries: 0 });
  const image = (path: string) => ({ type: "image_url", image_url: { url: url + path } }) as const;
  const inline = { type: "image_url", image_url: { url: "data:image/png;base64,R0lGODlh" } } as const;
  const sound = { type: "audio_url", audio_url: { url: `${url}/a.wav` } } as never;
  const content = [text, image("/a.png"), inline, sound, image("/moved")];
  const answer = await client.chat.completions.create({ model: "talk", messages: [{ role: "user", content }] });
  expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual([
    ["text", null, null],
    ["image", "image/png", PNG.length],
    ["image", "image/gif", 6],
    ["audio", "audio/wav", WAV.length],
    ["image", "image/png", PNG.length],
  ]);
  const given = [
    { type: "input_text" as const, text: "media" },
    { type: "input_image" as const, image_url: `${url}/a.png`, detail: "auto" as const },
  ];
  const response = await client.responses.create({ model: "talk", input: [{ role: "user", content: given }] });
  expect(JSON.parse(response.output_text)).toEqual([
    ["text", null, null],
    ["image", "image/png", PNG.length],
  ]);
});

it("Anthropic's messages have them too", async () => {
  const content = [text, { type: "image", source: { type: "url", url: `${await files()}/a.png` } }];
  const { body } = await post("/v1/messages", { model: "talk", max_tokens: 9, messages: [{ role: "user", content }] });
  expect(JSON.parse(body.content[0].text)).toEqual([
    ["text", null, null],
    ["image", "image/png", PNG.length],
  ]);
});

it.each([
  ["/page.png", "is the address of no image; expected JPEG, PNG"],
  ["/a.wav", "is the address of no image"],
  ["/none", /cannot be fetched: 127\.0\.0\.1:\d+ answers 404; expected another one, or the data itself/],
  ["/endless", /cannot be fetched: 127\.0\.0\.1:\d+ sends more than 20971520 bytes/],
  ["/inner", "cannot be fetched: it is at 127.0.0.2, which --fetch-media does not list"],
  ["http://localhost/", "it is at localhost, which --fetch-media does not list"],
])("%s is refused with its place, also of a stream, and the server goes on", async (path, reason) => {
  const url = path.startsWith("http") ? path : (await files()) + path;
  const content = [text, { type: "image_url", image_url: { url } }];
  const messages = [{ role: "user", content }];
  const { status, body } = await post("/v1/chat/completions", { model: "talk", messages, stream: path === "/none" });
  expect(status).toBe(400);
  expect(body.error.message).toMatch(reason);
  expect(body.error.param).toBe("messages[0].content[1].image_url.url");
});

it("more than 16 addresses, and very long ones, are refused before any is fetched", async () => {
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  const ask = (content: object[]) =>
    post("/v1/chat/completions", { model: "talk", messages: [{ role: "user", content }] });
  const many = await ask(Array(17).fill(image("http://127.0.0.1:1/")));
  expect(many.body.error.message).toBe("messages is 17 addresses of images and sound; expected 16 at most.");
  const long = await ask([image(`http://127.0.0.1/${"a".repeat(9000)}`)]);
  expect(long.body.error.message).toContain("is an address of 9017 characters; expected 8192 at most");
});

it("nothing is fetched without the option, whose name the error has", async () => {
  const { httpUrl } = await startServer({ models: models() });
  const content = [{ type: "image_url", image_url: { url: "http://127.0.0.1:1/" } }];
  const body = JSON.stringify({ model: "talk", messages: [{ role: "user", content }] });
  const answer = await fetch(`${httpUrl}/v1/chat/completions`, { method: "POST", body });
  expect(answer.status).toBe(400);
  expect(((await answer.json()) as Answered).error.message).toBe(
    "messages[0].content[0].image_url.url is an address, which is not fetched; expected the data itself (data:image/jpeg;base64,…), or a server with --fetch-media HOSTS.",
  );
});

it("a host that is none is refused before the server listens", async () => {
  await expect(startServer({ models: models(), fetchMedia: ["http://a"] })).rejects.toThrow(
    '"http://a" in --fetch-media is no host',
  );
});
