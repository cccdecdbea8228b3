import { expect, it } from "vitest";
import { textEntries } from "../../../src/hooks/text-entries.ts";
import { readChatJob } from "../../../src/protocols/openai/chat-request.ts";

it("has each text of a conversation once on its way to the function, which gets those of a message as one too", async () => {
  const content = [
    { type: "text", text: "some" },
    { type: "refusal", refusal: "thing" },
  ];
  const refused = { role: "assistant", content: null, refusal: "Not that." };
  const messages = [{ role: "user", content: "only this" }, { role: "user", content }, { role: "user" }, refused];
  const { requests } = await readChatJob.run(Buffer.from(JSON.stringify({ messages })));
  const wire = Buffer.from(requests[0]!.request);
  expect(wire.toString().split("only this")).toHaveLength(2);
  const chat = (got: unknown) => got;
  const entry = textEntries({ chat }, "my.ts", false)?.get("chat");
  expect(entry?.call({ facts: {}, headers: {}, body: wire }, {} as never)).toMatchObject({
    messages: [
      { text: "only this" },
      { text: "something", content: [{ text: "some" }, { text: "thing" }] },
      { text: "" },
      { role: "assistant", text: "Not that." },
    ],
  });
});

/** The pieces of the last message, as they go to the function. */
async function contentOf(content: unknown, more: object = {}) {
  const messages = [{ role: "user", content, ...more }];
  const { requests } = await readChatJob.run(Buffer.from(JSON.stringify({ messages })));
  return JSON.parse(Buffer.from(requests[0]!.request).toString()).messages.at(-1).content;
}

it.each([
  ["audio_url", "data:audio/webm;codecs=opus;base64,", "AAECAw==", "audio/webm"],
  ["audio_url", "data:audio/mp4;codecs=mp4a.40.2;rate=8000;base64,", "AAECAw==", "audio/mp4"],
  ["image_url", "data:image/gif;charset=utf-8;base64,", "R0lGODlh", "image/gif"],
  ["image_url", "DATA:image/gif;BASE64,", "R0lGODlh", "image/gif"],
])("takes a data URI with parameters, as browsers write them: %s %s", async (type, head, base64, mediaType) => {
  const [piece] = await contentOf([{ type, [type]: { url: head + base64 } }]);
  expect(piece).toEqual({ type: type.slice(0, 5), mediaType, base64 });
});

it.each([
  ["audio_url", "data:image/gif;base64,R0lGODlh"],
  ["image_url", "data:audio/wav;base64,AAEC"],
  ["image_url", "data:image/gif;a;b;c;d;e;base64,R0lGODlh"],
  ["image_url", "data:image/gif;charset=utf-8,GIF"],
  ["image_url", `data:image/gif${";base64".repeat(100_000)}`],
])("refuses a data URI of another kind, or none of base64: %s %s", async (type, url) => {
  await expect(contentOf([{ type, [type]: { url } }])).rejects.toThrow("; expected the ");
});
