import { describe, expect, it } from "vitest";
import type { Job } from "../../../src/platform/codec-host/job.ts";
import { readMessagesJob } from "../../../src/protocols/anthropic/messages-request.ts";
import { readOllamaChatJob } from "../../../src/protocols/ollama/ollama-request.ts";
import { readChatJob } from "../../../src/protocols/openai/chat-request.ts";
import { readResponseJob } from "../../../src/protocols/openai/responses-request.ts";
import type { TextWish } from "../../../src/protocols/text/text-wish.ts";

/** The messages of a request, as they go to the function. */
async function messagesOf(job: Job<[Uint8Array], TextWish>, body: object) {
  const { requests } = await job.run(Buffer.from(JSON.stringify(body)));
  return JSON.parse(Buffer.from(requests[0]!.request).toString()).messages;
}

const user = { role: "user", content: "so?" };
const text = { role: "assistant", content: "so" };

describe("thoughts of an answer before reach the function", () => {
  it.each([
    ["OpenAI's", readChatJob, { messages: [user, { ...text, reasoning_content: "hm" }, user] }],
    ["OpenRouter's", readChatJob, { messages: [user, { ...text, reasoning: "hm", reasoning_details: [] }, user] }],
    ["Ollama's", readOllamaChatJob, { messages: [user, { ...text, thinking: "hm" }, user] }],
    [
      "Anthropic's",
      readMessagesJob,
      {
        messages: [
          user,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "h", signature: "" },
              { type: "redacted_thinking", data: "x" },
              { type: "thinking", thinking: "m", signature: "" },
              { type: "text", text: "so" },
            ],
          },
          user,
        ],
      },
    ],
    [
      "Responses'",
      readResponseJob,
      {
        input: [
          user,
          { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "h" }] },
          { type: "reasoning", summary: [{ type: "summary_text", text: "m" }], content: null, encrypted_content: null },
          text,
          user,
        ],
      },
    ],
  ] as const)("in %s form", async (_, job, body) => {
    const [before, answer, after] = await messagesOf(job as Job<[Uint8Array], TextWish>, body);
    expect(answer).toMatchObject({ role: "assistant", content: [{ type: "text", text: "so" }], reasoning: "hm" });
    expect([before.reasoning, after.reasoning]).toEqual([undefined, undefined]);
  });

  it("beside calls of tools, and not those of a message that is not an answer", async () => {
    const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
    const thought = (said: string) => ({ type: "reasoning", summary: [{ type: "summary_text", text: said }] });
    const input = [user, thought("one "), call, thought("two"), { ...call, call_id: "b" }, thought("lost"), user];
    const [, answer, last] = await messagesOf(readResponseJob, { input });
    expect(answer).toMatchObject({ toolCalls: [{ id: "a" }, { id: "b" }], reasoning: "one two" });
    expect(last.reasoning).toBeUndefined();
  });

  it("as texts alone: other forms are left out, and null is none", async () => {
    const messages = [user, { ...text, reasoning: { effort: "low" }, reasoning_content: null }];
    expect((await messagesOf(readChatJob, { messages }))[1].reasoning).toBeUndefined();
    const [, answer] = await messagesOf(readOllamaChatJob, { messages: [user, { ...text, thinking: null }] });
    expect(answer.reasoning).toBeUndefined();
  });

  it.each([
    ["Ollama's", readOllamaChatJob, { messages: [{ ...text, thinking: true }] }],
    ["Anthropic's", readMessagesJob, { messages: [{ ...text, content: [{ type: "thinking", thinking: 5 }] }] }],
    ["Responses', a text", readResponseJob, { input: [{ type: "reasoning", content: "hm" }, text] }],
    ["Responses', texts", readResponseJob, { input: [{ type: "reasoning", summary: ["hm", null] }, text] }],
    ["Responses', a number", readResponseJob, { input: [{ type: "reasoning", content: [{ text: 5 }] }, text] }],
  ] as const)("and refuse no request in another form: %s", async (_, job, body) => {
    const [answer] = await messagesOf(job as Job<[Uint8Array], TextWish>, { max_tokens: 5, ...body });
    expect([answer.role, answer.reasoning]).toEqual(["assistant", undefined]);
  });

  it("where one of OpenAI's names has them and another is empty, and not as empty texts", async () => {
    const messages = [{ ...text, reasoning_content: "", reasoning: "hm" }, user, { ...text, reasoning: "" }];
    const all = await messagesOf(readChatJob, { messages });
    expect(all.map(({ reasoning }: { reasoning?: string }) => reasoning)).toEqual(["hm", undefined, undefined]);
    const [answer] = await messagesOf(readOllamaChatJob, { messages: [{ ...text, thinking: "" }] });
    expect(answer.reasoning).toBeUndefined();
  });

  it("with an assistant's messages alone", async () => {
    const thought = { ...user, reasoning: "hm", thinking: "hm" };
    for (const job of [readChatJob, readOllamaChatJob])
      expect((await messagesOf(job, { messages: [thought] }))[0].reasoning).toBeUndefined();
  });
});
