import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { type ChatMessage, loadTokenizer } from "../../src/text/text.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { toyTokenizer } from "../helpers/text-model.ts";

const CHATML = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

const withTemplate = (template: unknown, more: Record<string, string> = {}) =>
  loadTokenizer(tempFolder({ ...toyTokenizer({ config: { chat_template: template, bos_token: "[CLS]" } }), ...more }));
const hello = [{ role: "user", content: "hello" }];

test("a conversation is written as the template says, with the beginning of the answer if that is wanted", async () => {
  const tokenizer = await withTemplate(CHATML);
  expect(tokenizer.applyChatTemplate(hello)).toBe("<|im_start|>user\nhello<|im_end|>\n");
  expect(tokenizer.applyChatTemplate(hello, { addGenerationPrompt: true })).toBe(
    "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n",
  );
});

test("a template gets special tokens, tools, documents and values of the caller", async () => {
  const tokenizer = await withTemplate(
    "{{ bos_token }}{{ tools | tojson }}{% for d in documents %}{{ d.title }}{% endfor %}{{ enable_thinking }}{{ range(3) | join('-') }}",
  );
  const options = { tools: [{ name: "f" }], documents: [{ title: "T" }], variables: { enable_thinking: false } };
  expect(tokenizer.applyChatTemplate(hello, options)).toBe('[CLS][{"name": "f"}]Tfalse0-1-2');
  expect(await (await withTemplate("{{ strftime_now('%Y') }}")).applyChatTemplate([])).toBe(
    String(new Date().getFullYear()),
  );
});

test("a file beats the configuration, and one of several templates is chosen by name", async () => {
  const named = [
    { name: "default", template: "usual" },
    { name: "tool_use", template: "with tools" },
  ];
  const tokenizer = await withTemplate(named);
  expect(tokenizer.applyChatTemplate(hello)).toBe("usual");
  expect(tokenizer.applyChatTemplate(hello, { tools: [{}] })).toBe("with tools");
  expect(() => tokenizer.applyChatTemplate(hello, { template: "rag" })).toThrow(
    'no chat template "rag"; it has default, tool_use',
  );
  expect((await withTemplate("old", { "chat_template.jinja": "new" })).applyChatTemplate(hello)).toBe("new");
});

test("what the template refuses is the caller's fault, and what it cannot do is its own", async () => {
  const refusing = await withTemplate("{{ raise_exception('roles must alternate') }}");
  expect(() => refusing.applyChatTemplate(hello)).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: "The chat template refuses the messages: roles must alternate",
    }),
  );
  const none = await loadTokenizer(tempFolder(toyTokenizer()));
  expect(() => none.applyChatTemplate(hello)).toThrow("The model has no chat template");
  const faulty = await withTemplate("{% for x in %}");
  expect(() => faulty.applyChatTemplate(hello)).toThrow("The chat template is faulty");
});

test("a template that loops, recurses or writes without end is stopped", async () => {
  const render = async (template: string, timeLimitMs = 60_000) => {
    const tokenizer = await withTemplate(template);
    return () => tokenizer.applyChatTemplate(hello, { timeLimitMs });
  };
  const loop = "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}{% endfor %}{% endfor %}";
  expect(await render(loop, 50)).toThrow("took more than 50 ms");
  expect(await render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")).toThrow("cannot be applied");
  expect(await render("{{ range(10000000000) }}")).toThrow("a range of 10000000000 numbers");
  const doubled = (value: string, operator: string) =>
    `{% set ns = namespace(x=${value}) %}{% for i in range(40) %}{% set ns.x = ns.x ${operator} ns.x %}{% endfor %}`;
  expect(await render(doubled("'0123456789'", "~"))).toThrow("writes more than 4000000 characters");
  expect(await render(doubled("'0123456789'", "+"))).toThrow("writes more than 4000000 characters");
  expect(await render(doubled("range(99999)", "+"))).toThrow("a list of more than 1000000 elements");
});

test("a template with very much white space, which its library takes minutes to read, is refused", async () => {
  for (const [template, length] of [
    [`{{ messages }}${" ".repeat(900_000)}`, 900_000],
    [`{{ messages }}${`${"\n".repeat(1000)}a`.repeat(900)}`, 1000],
  ] as const) {
    const tokenizer = await withTemplate(template);
    const expected = `The chat template has ${length} spaces or line ends in a row`;
    expect(() => tokenizer.applyChatTemplate(hello)).toThrow(expected);
  }
  const indented = await withTemplate(`${`${" ".repeat(200)}a\n`.repeat(200)}{{ messages[0].content }}`);
  expect(indented.applyChatTemplate(hello)).toMatch(/hello$/);
});

test("values that a template cannot have are refused", async () => {
  const tokenizer = await withTemplate("{{ odd }}");
  const render = () => tokenizer.applyChatTemplate(hello, { variables: { odd: Symbol("odd") } });
  expect(render).toThrow(ServingError);
  expect(render).toThrow("The chat template cannot be applied");
});

test("a template reaches nothing of JavaScript, and a message's members are data", async () => {
  const tokenizer = await withTemplate(
    "{{ messages.constructor }}{{ messages[0].constructor }}{{ ''.constructor }}{{ messages[0].__proto__ }}{{ process }}",
  );
  const message = JSON.parse('{"role": "user", "__proto__": "own"}');
  expect(tokenizer.applyChatTemplate([message])).toBe("own");
});

/** Templates and Jinja2's answers, of test/fixtures/make/chat-templates.py; null = it fails. */
interface Family {
  readonly template: string;
  readonly cases: readonly {
    readonly messages: readonly ChatMessage[];
    readonly add_generation_prompt?: boolean;
    readonly tools?: readonly unknown[];
    readonly expected: string | { readonly refused: string } | null;
  }[];
}

const FAMILIES: Record<string, Family> = JSON.parse(readFileSync("test/fixtures/text/chat-templates.json", "utf8"));

test.each(Object.entries(FAMILIES))("the template of %s writes what Jinja2 writes in Python", async (_, family) => {
  const config = { chat_template: family.template, bos_token: "<s>", eos_token: "</s>" };
  const tokenizer = await loadTokenizer(tempFolder(toyTokenizer({ config })));
  for (const { messages, expected, tools, add_generation_prompt: addGenerationPrompt = false } of family.cases) {
    const render = () => tokenizer.applyChatTemplate(messages, { addGenerationPrompt, ...(tools && { tools }) });
    if (typeof expected === "string") expect(render()).toBe(expected);
    else if (expected !== null) expect(render).toThrow(`refuses the messages: ${expected.refused}`);
  }
});
