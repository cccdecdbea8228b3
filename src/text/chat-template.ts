import { failedPrecondition, invalidArgument, reasonText, ServingError } from "../errors.ts";

/**
 * The interpreter of templates, loaded with the first tokenizer that has one, as far as it is used: see
 * `TokenizersLibrary`.
 */
export interface JinjaLibrary {
  readonly Environment: new () => Environment;
  readonly Interpreter: new (environment: Environment) => Interpreter;
  tokenize(template: string, options: object): readonly object[];
  parse(tokens: readonly object[]): object;
}

interface Environment {
  readonly variables: ReadonlyMap<string, unknown>;
  set(name: string, value: unknown): RuntimeValue;
}

interface Statement {
  readonly type: string;
}

interface Interpreter {
  run(program: object): RuntimeValue;
  evaluate(statement: object | undefined, environment: Environment): RuntimeValue;
  evaluateBlock(statements: readonly Statement[], environment: Environment): RuntimeValue;
  evaluateBinaryExpression(node: BinaryExpression, environment: Environment): RuntimeValue;
  applyFilter(operand: RuntimeValue, filter: Filter, environment: Environment): RuntimeValue;
}

interface BinaryExpression {
  readonly operator: { readonly value: string };
  readonly left: object;
  readonly right: object;
}

/** A name, or a call of it. */
interface Filter {
  readonly value?: unknown;
  readonly callee?: { readonly value?: unknown };
}

interface RuntimeValue {
  readonly type: string;
  readonly value: unknown;
}

/** A message of a conversation, as OpenAI's and transformers' have it; further members are the template's. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [member: string]: unknown;
}

/** Values for a template besides the messages. */
export interface ChatTemplateOptions {
  /** True if the text is to end with the beginning of the assistant's answer. Default false. */
  readonly addGenerationPrompt?: boolean;
  /** Functions that the model may call, in OpenAI's form. */
  readonly tools?: readonly unknown[];
  /** Texts that the answer is to be based on. */
  readonly documents?: readonly unknown[];
  /** The name of one of several. Default `tool_use` if there are tools and such a template, else `default`. */
  readonly template?: string;
  /** Values for the template's own names, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Time that it may take, in milliseconds. Default 1000. */
  readonly timeLimitMs?: number;
}

/** Characters of a template. */
const MOST_TEMPLATE = 1_000_000;
/** Steps over its white space: the library's pattern takes the square of each run's length. */
const MOST_SPACE_STEPS = 10_000_000;
/** Characters of a text that a template makes: as many as may become a list of single ones. */
const MOST_WRITTEN = 4_000_000;
/** Elements of a list that it makes, two of which may be put together before they are counted. */
const MOST_ELEMENTS = 1_000_000;
/** Numbers of a range. */
const MOST_RANGE = 100_000;
/** Steps between two looks at the clock. */
const STEPS = 256;

/**
 * The chat templates of a tokenizer. They run in an interpreter that has no JavaScript: names such as `constructor` are
 * none in it. Time and length are bounded, so that one that loops ends with an error.
 */
export class ChatTemplate {
  readonly #templates: ReadonlyMap<string, string>;
  readonly #specialTokens: ReadonlyMap<string, string>;
  readonly #library: JinjaLibrary | undefined;
  readonly #parsed = new Map<string, object>();

  /** The library is needed if there are templates. */
  constructor(
    templates: ReadonlyMap<string, string>,
    specialTokens: ReadonlyMap<string, string>,
    library: JinjaLibrary | undefined,
  ) {
    this.#templates = templates;
    this.#specialTokens = specialTokens;
    this.#library = library;
  }

  /** Throws `failed_precondition` without a template or for a faulty one, `invalid_argument` for what it refuses. */
  render(messages: readonly ChatMessage[], options: ChatTemplateOptions): string {
    const library = this.#library;
    const name = options.template ?? (options.tools && this.#templates.has("tool_use") ? "tool_use" : "default");
    const text = this.#templates.get(name);
    if (library === undefined || text === undefined) throw this.#missing(name);
    const program = this.#parse(name, text, library);
    const { tools = null, documents = null, addGenerationPrompt = false, variables = {} } = options;
    try {
      const environment = createEnvironment(library, {
        ...Object.fromEntries(this.#specialTokens),
        ...variables,
        ...{ messages, tools, documents, add_generation_prompt: addGenerationPrompt },
      });
      return String(boundedInterpreter(library, environment, options.timeLimitMs ?? 1000).run(program).value);
    } catch (reason) {
      if (reason instanceof ServingError) throw reason;
      throw failedPrecondition(`The chat template cannot be applied: ${reasonText(reason)}`, reason);
    }
  }

  #missing(name: string): ServingError {
    const names = [...this.#templates.keys()];
    if (names.length === 0)
      return failedPrecondition(
        "The model has no chat template; expected chat_template.jinja, or one in tokenizer_config.json.",
      );
    return invalidArgument(`The model has no chat template "${name.slice(0, 100)}"; it has ${names.join(", ")}.`);
  }

  #parse(name: string, text: string, { parse, tokenize }: JinjaLibrary) {
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    if (text.length > MOST_TEMPLATE)
      throw failedPrecondition(`The chat template has ${text.length} characters; expected ${MOST_TEMPLATE} at most.`);
    checkSpace(text);
    try {
      const program = parse(tokenize(text, { lstrip_blocks: true, trim_blocks: true }));
      this.#parsed.set(name, program);
      return program;
    } catch (reason) {
      throw failedPrecondition(`The chat template is faulty: ${reasonText(reason)}`, reason);
    }
  }
}

/** Throws for runs of white space that are too long together. */
function checkSpace(template: string): void {
  let steps = 0;
  for (const [run] of template.matchAll(/\s+/g)) {
    steps += run.length ** 2;
    if (steps > MOST_SPACE_STEPS)
      throw failedPrecondition(`The chat template has ${run.length} spaces or line ends in a row; expected far fewer.`);
  }
}

/** The names that every template has, as transformers gives them, and these. */
function createEnvironment(library: JinjaLibrary, values: Readonly<Record<string, unknown>>): Environment {
  const environment = new library.Environment();
  const all: Record<string, unknown> = {
    ...{ true: true, false: false, none: null, True: true, False: false, None: null },
    raise_exception: (message: unknown) => {
      throw invalidArgument(`The chat template refuses the messages: ${String(message).slice(0, 1000)}`);
    },
    range: boundedRange,
    strftime_now: (format: unknown) => formatTime(String(format), new Date()),
    ...values,
  };
  for (const [name, value] of Object.entries(all)) if (!environment.variables.has(name)) environment.set(name, value);
  return environment;
}

/** Filters that make a text of what they get first. */
const TEXT_FILTERS: ReadonlySet<unknown> = new Set([
  "trim",
  "upper",
  "lower",
  "capitalize",
  "title",
  "string",
  "replace",
]);
/** Statements that write nothing, whose value is none, too. */
const SILENT: ReadonlySet<string> = new Set(["Set", "Macro", "Comment"]);

/** The text that Python writes for none, or for a name without a value; undefined for all else. */
function nothingText({ type }: RuntimeValue): string | undefined {
  if (type === "NullValue") return "None";
  return type === "UndefinedValue" ? "" : undefined;
}

/** An interpreter that ends in time, and writes none as Python does: messages with calls of tools have no content. */
function boundedInterpreter(library: JinjaLibrary, environment: Environment, timeLimitMs: number): Interpreter {
  const deadline = performance.now() + timeLimitMs;
  let steps = 0;
  const toText = (text: string) => new library.Environment().set("text", text);
  class Bounded extends library.Interpreter {
    override evaluate(statement: object | undefined, scope: Environment): RuntimeValue {
      const value = super.evaluate(statement, scope);
      const made = value.value;
      const size = typeof made === "string" || Array.isArray(made) ? made.length : 0;
      // A step with much in it takes as long as many others.
      if ((++steps % STEPS === 0 || size > STEPS) && performance.now() > deadline)
        throw failedPrecondition(`The chat template took more than ${timeLimitMs} ms.`);
      if (size > MOST_ELEMENTS && Array.isArray(made))
        throw failedPrecondition(`The chat template makes a list of more than ${MOST_ELEMENTS} elements.`);
      if (size > MOST_WRITTEN)
        throw failedPrecondition(`The chat template writes more than ${MOST_WRITTEN} characters.`);
      return value;
    }

    override evaluateBlock(statements: readonly Statement[], scope: Environment): RuntimeValue {
      let written = "";
      for (const statement of statements) {
        const value = this.evaluate(statement, scope);
        written += SILENT.has(statement.type) ? "" : (nothingText(value) ?? String(value));
      }
      return toText(written);
    }

    override evaluateBinaryExpression(node: BinaryExpression, scope: Environment): RuntimeValue {
      if (node.operator.value !== "~") return super.evaluateBinaryExpression(node, scope);
      const sides = [node.left, node.right].map((side) => this.evaluate(side, scope));
      return toText(sides.map((side) => nothingText(side) ?? String(side.value)).join(""));
    }

    override applyFilter(operand: RuntimeValue, filter: Filter, scope: Environment): RuntimeValue {
      const nothing = TEXT_FILTERS.has(filter.callee?.value ?? filter.value) ? nothingText(operand) : undefined;
      return super.applyFilter(nothing === undefined ? operand : toText(nothing), filter, scope);
    }
  }
  return new Bounded(environment);
}

function boundedRange(start: unknown, stop?: unknown, step: unknown = 1): number[] {
  const [from, to] = stop === undefined || stop === null ? [0, Number(start)] : [Number(start), Number(stop)];
  const count = Math.ceil((to - from) / Number(step));
  if (count > MOST_RANGE || Number.isNaN(count))
    throw failedPrecondition(`The chat template asks for a range of ${count} numbers; expected ${MOST_RANGE} at most.`);
  return Array.from({ length: Math.max(0, count) }, (_, index) => from + index * Number(step));
}

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** The directives of C's strftime that templates use, in local time and English; others stay as they are. */
function formatTime(format: string, now: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const [month = "", day = ""] = [MONTHS[now.getMonth()], DAYS[now.getDay()]];
  const directives: Readonly<Record<string, string>> = {
    ...{ Y: String(now.getFullYear()), y: two(now.getFullYear() % 100), m: two(now.getMonth() + 1) },
    ...{ d: two(now.getDate()), e: String(now.getDate()).padStart(2), B: month, b: month.slice(0, 3) },
    ...{ A: day, a: day.slice(0, 3), H: two(now.getHours()), M: two(now.getMinutes()), S: two(now.getSeconds()) },
    ...{ I: two(now.getHours() % 12 || 12), p: now.getHours() < 12 ? "AM" : "PM", "%": "%" },
  };
  return format.replace(/%(-?)([A-Za-z%])/g, (written, dash: string, directive: string) => {
    const text = directives[directive];
    if (text === undefined) return written;
    return dash === "" ? text : text.replace(/^[0 ]/, "");
  });
}
