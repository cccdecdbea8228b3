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
